package sinks

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// endpoint checks the URL of a webhook. Errors show only its scheme: its path and query
// may contain a secret. The address of the host is checked when it is dialed.
func endpoint(raw string, o Options) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil { // the error contains the URL
		return nil, errors.New("the URL cannot be parsed")
	}
	switch {
	case u.Scheme == "http" && !o.Plain:
		return nil, errors.New("the URL is http: use https, or for tests against this machine Options.Plain")
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, errors.New("the URL is not https")
	case u.Scheme == "http" && o.RootCAs != nil:
		return nil, errors.New("option RootCAs: the URL is http, which has no certificate; use https, or leave it out")
	case u.User != nil:
		return nil, errors.New("the URL holds a user or a password: leave them out, the signature tells who sent it")
	case u.Fragment != "" || strings.Contains(raw, "#"):
		return nil, errors.New("the URL holds a fragment, which is never sent: leave it out")
	case u.Opaque != "" || u.Hostname() == "":
		return nil, errors.New("the URL names no host")
	}
	return u, checkHost(strings.ToLower(u.Hostname()), o)
}

// checkHost rejects hosts that are wrong before a look-up: addresses of private networks,
// and names that mean this machine or that a resolver takes for an address.
func checkHost(host string, o Options) error {
	if addr, err := netip.ParseAddr(host); err == nil {
		if !mayDial(addr, o.Allow) {
			return fmt.Errorf("%w: allow its network by Options.Allow, if it is meant", ErrAddress)
		}
		return nil
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	switch {
	case strings.ContainsFunc(host, func(c rune) bool { return c > 'z' }):
		return errors.New("the URL's host is not a name of ASCII letters, digits and hyphens (write an international name as xn--…)")
	case last == "":
		return errors.New("the URL's host ends with a dot: leave it out")
	case last[0] >= '0' && last[0] <= '9': // 2130706433, 0x7f.1, 0177.0.0.1, 127.1
		return errors.New("the URL's host looks like an address in a form of its own: write it as 192.0.2.1 or [2001:db8::1], or give its name")
	case last == "localhost" && len(o.Allow) == 0:
		return fmt.Errorf("%w: localhost is this machine", ErrAddress)
	}
	return nil
}
