package alerts_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/headrace/headrace/alerts"
)

// record returns a hook that notes its calls and returns err.
func record(calls *[]string, name string, err error) alerts.Hook {
	return func(_ context.Context, a alerts.Alert) error {
		*calls = append(*calls, name+" "+a.Text)
		return err
	}
}

// INVARIANT 19: a hook that fails does not keep an alert from the others.
func TestMulti(t *testing.T) {
	var calls []string
	a, c := errors.New("a"), errors.New("c")
	err := alerts.Multi(record(&calls, "a", a), nil, record(&calls, "b", nil), record(&calls, "c", c))(context.Background(), alerts.Alert{Text: "x"})
	if want := []string{"a x", "b x", "c x"}; !slices.Equal(calls, want) {
		t.Errorf("calls %q, want %q", calls, want)
	}
	if !errors.Is(err, a) || !errors.Is(err, c) {
		t.Errorf("error %v", err)
	}
	for _, hook := range []alerts.Hook{alerts.Multi(), alerts.Multi(nil), alerts.Multi(record(&calls, "b", nil))} {
		if err := hook(context.Background(), alerts.Alert{}); err != nil {
			t.Errorf("error %v", err)
		}
	}
}

// INVARIANT 19: a broken sink does not keep an alert from the others.
func TestMultiSurvivesPanic(t *testing.T) {
	var calls []string
	broken := func(context.Context, alerts.Alert) error { panic("broken") }
	hook := alerts.Multi(broken, record(&calls, "b", nil), record(&calls, "c", nil))
	func() {
		defer func() {
			if recover() != "broken" {
				t.Error("the panic was swallowed, and no log shows it")
			}
		}()
		_ = hook(context.Background(), alerts.Alert{Text: "x"})
	}()
	if want := []string{"b x", "c x"}; !slices.Equal(calls, want) {
		t.Errorf("calls %q, want %q", calls, want)
	}
}

func TestLog(t *testing.T) {
	var out bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	log := alerts.Log(logger)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, a := range []alerts.Alert{
		{Kind: alerts.HandlerStuck, Consumer: "billing", Handler: "orders.paid", Topic: "orders", Text: "look\nforged=1", At: at},
		{Kind: alerts.Resumed, Text: "back", Count: 1},
		{Kind: alerts.GroupFailing, Class: "permanent", ErrorFingerprint: "f00", LetterID: 7, Count: 3, Groups: 2, Since: at, Text: "dead"},
	} {
		if err := log(context.Background(), a); err != nil {
			t.Errorf("error %v", err)
		}
	}
	want := `level=WARN msg="alert: look\nforged=1" kind=handler_stuck consumer=billing handler=orders.paid topic=orders at=2026-01-02T03:04:05.000Z` + "\n" +
		`level=INFO msg="alert: back" kind=resumed` + "\n" +
		`level=WARN msg="alert: dead" kind=group_failing class=permanent error_fingerprint=f00 letter=7 count=3 since=2026-01-02T03:04:05.000Z groups=2` + "\n"
	if out.String() != want {
		t.Errorf("log\n%s want\n%s", out.String(), want)
	}
}

func TestLogWithoutLogger(t *testing.T) {
	var out bytes.Buffer
	before := slog.Default()
	defer slog.SetDefault(before)
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))
	_ = alerts.Log(nil)(context.Background(), alerts.Alert{Kind: alerts.Paused, Text: "x"})
	if !bytes.Contains(out.Bytes(), []byte("kind=paused")) {
		t.Errorf("log %q", out.String())
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []alerts.Options{{Quiet: -1}, {Quiet: time.Millisecond}, {Quiet: 13 * time.Hour}, {PerMinute: -1}, {PerMinute: 1001}} {
		if o.Validate() == nil {
			t.Errorf("%+v was taken", o)
		}
	}
	if o := (alerts.Options{}).WithDefaults(); o.Quiet != 5*time.Minute || o.PerMinute != 10 || o.Validate() != nil {
		t.Errorf("defaults %+v", o)
	}
}
