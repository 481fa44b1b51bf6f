package login

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
)

var (
	errLink  = errors.New("a link for one use is for this machine only: give --proxy-header or --tokens")
	errProxy = errors.New("beyond this machine a proxy has to prove itself: give --proxy-secret")
)

// ErrBeyond is matched by the error of Listen for an address that other machines reach.
var ErrBeyond = errors.New("other machines reach this address")

// Listen listens on host:port, or on a Unix socket as unix:PATH. It refuses an address beyond this machine unless the
// way proves there who someone is: a [Proxy] with a secret, or [Tokens]. That error matches [ErrBeyond].
func Listen(address string, way Way) (net.Listener, error) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		return net.Listen("unix", path)
	}
	at, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, err
	}
	if err := way.beyond(); err != nil && !at.IP.IsLoopback() {
		return nil, fmt.Errorf("listen on %s: %w: %w", address, ErrBeyond, err)
	}
	return net.ListenTCP("tcp", at)
}

// Loopback returns the names of this machine for itself.
func Loopback() []string { return []string{"localhost", "127.0.0.1", "::1"} }

// Names returns the names by which browsers may call: that of the address, on loopback its other names too, and more.
// None has a port. They are for ui.Options.Hosts: other names are refused, so that a page elsewhere cannot reach us under
// its own name (DNS rebinding).
func Names(address string, more []string) []string {
	names := slices.Clone(more)
	host, _, err := net.SplitHostPort(address)
	if strings.HasPrefix(address, "unix:") || err != nil { // a Unix socket has no name; what is before it sends its own, or this
		return append(names, "localhost")
	}
	ip := net.ParseIP(host)
	if host != "" && (ip == nil || !ip.IsUnspecified()) {
		names = append(names, host)
	}
	if host == "localhost" || ip.IsLoopback() {
		names = append(names, Loopback()...)
	}
	return names
}

// Named reports whether the Host header of a request is one of names.
func Named(names []string, host string) bool {
	name := nameOf(host)
	return slices.ContainsFunc(names, func(one string) bool { return strings.EqualFold(one, name) })
}

// nameOf returns the name or address in a Host header.
func nameOf(host string) string {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	return strings.Trim(name, "[]")
}
