package sinks

import (
	"crypto/x509"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"
)

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// The vector of the Standard Webhooks libraries.
func TestSign(t *testing.T) {
	k, err := key(secret)
	if err != nil {
		t.Fatal(err)
	}
	got := sign(k, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("signature %s, want %s", got, want)
	}
}

// FAULT 66 of INVARIANTS: addresses that a webhook is not sent to.
func TestMayDial(t *testing.T) {
	for _, s := range []string{
		"127.0.0.1", "127.255.0.1", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "100.64.0.1",
		"0.0.0.0", "0.1.2.3", "224.0.0.1", "239.1.1.1", "255.255.255.255", "240.0.0.1", "192.0.2.1", "198.18.0.1",
		"::", "::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1", "64:ff9b::808:808",
		"fc00::1", "fd12::1", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "5f00::1",
		"2606:4700::1%eth0",
	} {
		if mayDial(netip.MustParseAddr(s), nil) {
			t.Errorf("%s may be dialed", s)
		}
	}
	for _, s := range []string{"8.8.8.8", "::ffff:8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700:4700::1111", "2a00:1450::1"} {
		if !mayDial(netip.MustParseAddr(s), nil) {
			t.Errorf("%s may not be dialed", s)
		}
	}
	allow := prefixes("10.0.0.0/8", "fd00::/8")
	for s, want := range map[string]bool{"10.1.1.1": true, "::ffff:10.1.1.1": true, "fd00::1": true, "192.168.0.1": false, "fc00::1": false, "fd00::1%eth0": false} {
		if mayDial(netip.MustParseAddr(s), allow) != want {
			t.Errorf("%s: want %t", s, want)
		}
	}
	if mayDial(netip.Addr{}, nil) {
		t.Error("no address may be dialed")
	}
}

// BAD INPUT 46 of INVARIANTS: no error shows what may be secret.
func TestEndpointRefuses(t *testing.T) {
	const canary = "canary-s3cr3t"
	for url, word := range map[string]string{
		"":                                        "not https",
		"file:///etc/passwd?" + canary:            "not https",
		"gopher://example.com/" + canary:          "not https",
		"http://example.com/" + canary:            "https",
		"HTTPS:example.com/" + canary:             "no host",
		"https://ops:" + canary + "@example.com/": "user",
		"https://" + canary + "@example.com/":     "user",
		"https://example.com/#" + canary:          "fragment",
		"https://example.com/x#":                  "fragment",
		"https:///x?" + canary:                    "no host",
		"https://:8443/x?" + canary:               "no host",
		"https://example.com:x/" + canary:         "parsed",
		"https://[::1/" + canary:                  "parsed",
		"https://exa\x00mple.com/" + canary:       "parsed",
		"https://2130706433/" + canary:            "address",
		"https://0x7f000001/" + canary:            "address",
		"https://0177.0.0.1/" + canary:            "address",
		"https://127.1/" + canary:                 "address",
		"https://127.0.0.1/" + canary:             "private",
		"https://[::ffff:127.0.0.1]/" + canary:    "private",
		"https://[::]/" + canary:                  "private",
		"https://[fe80::1%25eth0]/" + canary:      "private",
		"https://169.254.169.254/" + canary:       "private",
		"https://LOCALHOST/" + canary:             "this machine",
		"https://a.localhost/" + canary:           "this machine",
		"https://localhost./" + canary:            "dot",
		"https://ex\u00e4mple.com/" + canary:      "xn--",
		"https://\uff11\uff12\uff17.0.0.1/":       "xn--",
		"https://exa%6dple.com/" + canary:         "parsed",
		"https://exa mple.com/" + canary:          "parsed",
	} {
		_, err := Webhook(url, secret, Options{})
		switch {
		case err == nil:
			t.Errorf("%q was taken", url)
		case !strings.Contains(err.Error(), word) || strings.Contains(err.Error(), canary):
			t.Errorf("%q: error %v", url, err)
		}
	}
}

func TestEndpointTakes(t *testing.T) {
	for _, url := range []string{"https://example.com", "https://example.com:8443/a?token=b", "HTTPS://EXAMPLE.com/", "https://xn--exmple-cua.com/", "https://8.8.8.8/", "https://[2606:4700::1]:1/"} {
		if _, err := Webhook(url, secret, Options{}); err != nil {
			t.Errorf("%q: %v", url, err)
		}
	}
	authorities := Options{Plain: true, Allow: prefixes("127.0.0.0/8"), RootCAs: x509.NewCertPool()}
	if _, err := endpoint("http://127.0.0.1:1/x", authorities); err == nil || !strings.Contains(err.Error(), "option RootCAs") {
		t.Errorf("RootCAs with http: %v", err)
	}
	if _, err := endpoint("https://127.0.0.1:1/x", authorities); err != nil {
		t.Errorf("RootCAs with https: %v", err)
	}
	o := Options{Plain: true, Allow: prefixes("127.0.0.0/8")}
	for _, url := range []string{"http://localhost:80/", "http://127.0.0.1:1/x"} {
		if _, err := Webhook(url, secret, o); err != nil {
			t.Errorf("%q: %v", url, err)
		}
	}
}

func TestWebhookRefusesOptions(t *testing.T) {
	for name, o := range map[string]Options{
		"long": {Timeout: 6 * time.Second}, "negative": {Timeout: -1}, "network": {Allow: []netip.Prefix{{}}},
	} {
		if _, err := Webhook("https://example.com", secret, o); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	for _, bad := range []string{"", "whsec_", "short", "whsec_not base64 canary", "whsec_Y2FuYXJ5", secretPrefix + strings.Repeat("QUJD", 40)} {
		_, err := Webhook("https://example.com", bad, Options{})
		if err == nil || strings.Contains(err.Error(), "canary") || len(bad) > 6 && strings.Contains(err.Error(), bad[6:]) {
			t.Errorf("secret %q: %v", bad, err)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-7": 0, "99999999999999999999": 0, "86400": 15 * time.Minute, "soon": 0,
		now.Add(time.Minute).Format(http.TimeFormat): time.Minute, now.Add(-time.Minute).Format(http.TimeFormat): 0,
		now.Add(24 * time.Hour).Format(http.TimeFormat): 15 * time.Minute,
	} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("%q: %s, want %s", value, got, want)
		}
	}
}

// Errors of a call are in words of ours.
func TestFailure(t *testing.T) {
	err := (&caller{kind: "webhook"}).failure(errors.New("Post https://example.com?canary"))
	if strings.Contains(err.Error(), "canary") {
		t.Error(err)
	}
}

func TestClientUsesNoProxy(t *testing.T) {
	if client(Options{}).Transport.(*http.Transport).Proxy != nil {
		t.Error("a proxy of the environment would be used")
	}
}
