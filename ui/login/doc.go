// Package login finds out who sends a request to the pages, for programs that have no login of their own.
//
// # Nouns
//
// A [Way] knows a person in one of three manners: a [Link] for one use and then a cookie, a [Proxy] that names the
// person in headers, or [Tokens] in a file.
//
//	way := login.NewLink(who.Person{Name: "ann", Role: who.Admin})
//	listener, err := login.Listen("127.0.0.1:8090", way)
//	pages := ui.New(st, ui.Options{Identify: way.Identify, Hosts: login.Names("127.0.0.1:8090", nil)})
//	http.Serve(listener, way.Handler(pages))
//
// # Rules
//
// Secrets are compared in constant time, or by their hash. A request that is not known is refused with
// [who.ErrUnknown], and never taken for someone with fewer rights. [Listen] goes beyond this machine only with a way
// that proves itself there.
//
// # Caveats
//
// Nothing here speaks TLS: beyond this machine a proxy has to. Browsers send cookies to every port of a machine, so
// another server on this machine that is opened in the same browser can read the cookie of a [Link]. Middleware that
// writes http.Request.RemoteAddr from a header breaks [Link] and [Proxy]: they trust that address.
package login
