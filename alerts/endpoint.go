package alerts

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// endpoint checks the URL of a webhook. No error shows more of it than its scheme: its
// path and query may hold a secret.
func endpoint(raw string, o WebhookOptions) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil { // it holds the URL
		return nil, errors.New("the URL cannot be parsed")
	}
	switch {
	case u.Scheme == "http" && !o.Plain:
		return nil, errors.New("the URL is http: use https, or for tests against this machine WebhookOptions.Plain")
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, errors.New("the URL is not https")
	case u.User != nil:
		return nil, errors.New("the URL holds a user or a password: leave them out, the signature tells who sent it")
	case u.Fragment != "" || strings.Contains(raw, "#"):
		return nil, errors.New("the URL holds a fragment, which is never sent: leave it out")
	case u.Opaque != "" || u.Hostname() == "":
		return nil, errors.New("the URL names no host")
	}
	if err := checkPort(u); err != nil {
		return nil, err
	}
	return u, checkHost(u.Hostname(), o)
}

func checkPort(u *url.URL) error {
	port := u.Port()
	if port == "" && strings.HasSuffix(u.Host, ":") {
		return errors.New("the URL's port is empty")
	}
	if n, err := strconv.Atoi(port); port != "" && (err != nil || n < 1 || n > 65535) {
		return errors.New("the URL's port is not from 1 to 65535")
	}
	return nil
}

// checkHost refuses what can be told before it is looked up; the rest is refused when
// it is dialed.
func checkHost(host string, o WebhookOptions) error {
	if addr, err := netip.ParseAddr(host); err == nil {
		if !mayDial(addr, o.Allow) {
			return fmt.Errorf("%w: allow its network by WebhookOptions.Allow, if it is meant", ErrAddress)
		}
		return nil
	}
	labels := strings.Split(strings.ToLower(host), ".")
	last := labels[len(labels)-1]
	switch {
	case last == "":
		return errors.New("the URL's host ends with a dot: leave it out")
	case len(host) > 253 || !plainLabels(labels):
		return errors.New("the URL's host is not a name of ASCII letters, digits and hyphens (write an international name as xn--…)")
	case last[0] >= '0' && last[0] <= '9':
		// 2130706433, 0x7f.1, 0177.0.0.1, 127.1: resolvers take them for addresses.
		return errors.New("the URL's host looks like an address in a form of its own: write it as 192.0.2.1 or [2001:db8::1], or give its name")
	case last == "localhost" && len(o.Allow) == 0:
		return fmt.Errorf("%w: localhost is this machine", ErrAddress)
	}
	return nil
}

func plainLabels(labels []string) bool {
	for _, label := range labels {
		if label == "" || len(label) > 63 {
			return false
		}
		for _, c := range []byte(label) {
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return false
			}
		}
	}
	return true
}
