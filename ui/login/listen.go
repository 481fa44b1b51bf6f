package login

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
)

var (
	errLink  = errors.New("a link for one use is for this machine only: give --proxy-header or --tokens")
	errProxy = errors.New("beyond this machine a proxy has to prove itself: give --proxy-secret")
)

// Listen listens on host:port, or on a Unix socket as unix:PATH. It refuses an address beyond this machine unless the
// way proves there who someone is: a [Proxy] with a secret, or [Tokens].
func Listen(address string, way Way) (net.Listener, error) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		return net.Listen("unix", path)
	}
	at, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, err
	}
	if err := way.beyond(); err != nil && !at.IP.IsLoopback() {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	return net.ListenTCP("tcp", at)
}

// Names returns the names under which requests are taken: the address as it was given, with the port that it got, on
// loopback also its other names, and more, which are names with or without a port.
func Names(address string, got net.Addr, more []string) []string {
	names := slices.Clone(more)
	at, ok := got.(*net.TCPAddr)
	if !ok { // a Unix socket has no name; what is before it sends its own, or this
		return append(names, "localhost")
	}
	port := fmt.Sprint(at.Port)
	if host, _, err := net.SplitHostPort(address); err == nil && host != "" && !at.IP.IsUnspecified() {
		names = append(names, net.JoinHostPort(host, port))
	}
	if at.IP.IsLoopback() {
		for _, host := range []string{"localhost", "127.0.0.1", "::1"} {
			names = append(names, net.JoinHostPort(host, port))
		}
	}
	return names
}

// Hosts refuses requests whose Host header is none of the names, with 421. A name without a port stands for all
// ports.
func Hosts(names []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !slices.ContainsFunc(names, func(name string) bool { return isHost(r.Host, name) }) {
			http.Error(w, "headrace does not listen under this name; --host adds one", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func isHost(host, name string) bool {
	if strings.EqualFold(host, name) {
		return true
	}
	bare, _, err := net.SplitHostPort(host)
	return err == nil && strings.EqualFold(bare, strings.Trim(name, "[]"))
}
