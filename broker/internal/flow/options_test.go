package flow

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestTimes(t *testing.T) {
	for value, want := range map[time.Duration]string{
		0: "", time.Millisecond: "", time.Hour: "",
		-1: "it may be 1ms to 1h0m0s, or 0", 5: "give it a unit", 999 * time.Microsecond: "it may be 1ms", time.Hour + 1: "it may be 1ms to 1h0m0s",
	} {
		err := Times(Time{Name: "Other"}, Time{Name: "Poll", Value: value})
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "option Poll is ")) {
			t.Errorf("%s: %v, want %q", value, err, want)
		}
	}
	if err := Times(Time{Name: "Wait", Value: 2 * time.Hour, Least: time.Second, Most: 12 * time.Hour}); err != nil {
		t.Error(err)
	}
	if err := Times(Time{Name: "Wait", Value: 10 * time.Millisecond, Least: time.Second}); err == nil {
		t.Error("below Least")
	}
}

// An error about a URL has no part of it, and one of a request says why that failed.
func TestWithoutURL(t *testing.T) {
	for _, address := range []string{"amqp://user:s3cr/et@host/", "amqp://user:s3cr%et@host/", "http://s3cr\x7fet@host"} {
		_, err := url.Parse(address)
		if err == nil {
			t.Fatalf("%q is a URL", address)
		}
		if said := WithoutURL(err).Error(); strings.Contains(said, "s3cr") || !strings.Contains(said, "escaped") {
			t.Errorf("%q: %s", address, said)
		}
	}
	_, err := http.Get("http://user:s3cret@127.0.0.1:1/")
	if said := WithoutURL(err).Error(); strings.Contains(said, "user") || !errors.Is(WithoutURL(err), syscall.ECONNREFUSED) {
		t.Error(said)
	}
	if other := errors.New("other"); WithoutURL(other) != other || WithoutURL(nil) != nil {
		t.Error("another error is changed")
	}
}
