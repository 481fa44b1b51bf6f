package login

import "net/http"

// ByName gives next the requests whose Host header is one of names, and refuses others. What signs people in
// belongs behind it, too: a page elsewhere that reaches us under its own name must not get a cookie.
func ByName(names []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !Named(names, r.Host) {
			http.Error(w, "this host name is not one of those that are served; headrace ui --host adds one", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}
