package login

import (
	"net"
	"net/http"
	"net/netip"
)

// ByName gives next the requests whose Host header is one of names, or the address that the connection came to, which no
// name of another site can stand for. It refuses others. What signs people in
// belongs behind it, too: a page elsewhere that reaches us under its own name must not get a cookie.
func ByName(names []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !Named(names, r.Host) && !byAddress(r) {
			http.Error(w, "this host name is not one of those that are served; --host of headrace ui adds one, and ui.Options.Hosts in a program", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// byAddress reports whether the Host header is the IP address that the connection came to.
func byAddress(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok {
		return false
	}
	ip, err := netip.ParseAddr(nameOf(r.Host))
	return err == nil && ip.Unmap() == local.AddrPort().Addr().Unmap().WithZone("")
}
