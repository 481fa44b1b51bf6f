package sinks

import (
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

// FuzzEndpoint: what is taken is https to a public host and no more; a refusal repeats
// nothing of the URL.
func FuzzEndpoint(f *testing.F) {
	for _, s := range []string{
		"https://example.com/hook?token=canary", "http://example.com", "file:///etc/passwd", "gopher://x", "https://user:pass@example.com",
		"https://127.0.0.1", "https://[::ffff:127.0.0.1]", "https://2130706433", "https://0x7f.1", "https://localhost.", "https://exämple.com",
		"https://example.com:0", "https://example.com:", "https://[fe80::1%25eth0]", "https://169.254.169.254/latest", "https:example.com", "//x", "\x7f",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := endpoint(raw, Options{})
		if err != nil {
			if len(raw) > 12 && strings.Contains(err.Error(), raw) {
				t.Fatalf("the refusal repeats %q: %v", raw, err)
			}
			return
		}
		if u.Scheme != "https" || u.User != nil || u.Hostname() == "" || u.Fragment != "" {
			t.Fatalf("%q was taken: %+v", raw, u)
		}
		if addr, err := netip.ParseAddr(u.Hostname()); err == nil && !mayDial(addr, nil) {
			t.Fatalf("%q is special", addr)
		}
		again, err := url.Parse(u.String())
		if err != nil || again.Host != u.Host || again.Path != u.Path {
			t.Fatalf("%q is read as %q, %v", u, again, err)
		}
	})
}

// FuzzSecret: a secret is of 24 to 64 bytes or refused, and the refusal does not show it.
func FuzzSecret(f *testing.F) {
	for _, s := range []string{"", "whsec_", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n", "whsec_whsec_", "canary-canary-canary-canary"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		k, err := key(s)
		if err == nil && (len(k) < 24 || len(k) > 64) {
			t.Fatalf("a key of %d bytes", len(k))
		}
		if err != nil && (k != nil || len(s) > 16 && strings.Contains(err.Error(), s)) {
			t.Fatalf("%q: %v, %v", s, k, err)
		}
	})
}
