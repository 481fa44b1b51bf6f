package login

import "net/http"

// security is what each answer says to the browser.
var security = map[string]string{
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
	"X-Content-Type-Options":     "nosniff",
	"X-Frame-Options":            "DENY",
	"Referrer-Policy":            "same-origin",
	"Cross-Origin-Opener-Policy": "same-origin",
	"Cache-Control":              "no-store",
}

// Guard serves next to browsers that call by one of names, and refuses what other sites send. Each answer has the
// headers that keep a page to itself.
func Guard(names []string, next http.Handler) http.Handler {
	guarded := ByName(names, http.NewCrossOriginProtection().Handler(next))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range security {
			w.Header().Set(name, value)
		}
		guarded.ServeHTTP(w, r)
	})
}
