package login

import (
	"net"
	"net/http"
	"net/netip"

	"github.com/headrace/headrace/ui/who"
)

// Way finds out who sends a request: a [Link], a [Proxy] or [Tokens].
type Way interface {
	// Identify returns who sends the request, or an error; who.ErrUnknown if the request does not tell. It may be
	// called concurrently.
	Identify(*http.Request) (who.Person, error)
	// Handler refuses requests that Identify does not know, in the form that lets a person sign in, and
	// gives the others to next.
	Handler(next http.Handler) http.Handler
	// beyond returns nil if the way proves who someone is beyond this machine, or what it lacks.
	beyond() error
}

// onMachine reports whether the other end of the connection is on this machine.
func onMachine(r *http.Request) bool {
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && local.Network() == "unix" {
		return true
	}
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && from.Addr().IsLoopback()
}

// refuse answers with a page that says why.
func refuse(w http.ResponseWriter, status int, head, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(`<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>headrace: not signed in</title>` +
		head + `</head><body><main><h1>Not signed in</h1>` + text + `</main></body></html>`))
}
