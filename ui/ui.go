package ui

import (
	"log/slog"
	"net/http"
	"strings"

	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/ui/frame"
	"github.com/headrace/headrace/ui/login"
	"github.com/headrace/headrace/ui/read"
	"github.com/headrace/headrace/ui/who"
)

// Person is who looks at the pages, and Role what that person may do.
type (
	Person = who.Person
	Role   = who.Role
)

// Options of New. The zero value refuses every request.
type Options struct {
	// Identify says who sends a request. It may be called concurrently. An error that matches
	// who.ErrUnknown is answered with 401, another one with 403. Default: every request is refused.
	Identify func(*http.Request) (Person, error)
	// Redact returns what of a message may be seen before it is revealed. Default: nothing.
	Redact func(Content) Content
	// Hosts are the names by which browsers may call, without a port; by another one they get 421.
	// The address that a connection came to is one of them. Default: loopback names.
	Hosts []string
	// Path is where the pages are mounted, with a slash at both ends. Default: "/".
	Path string
	// Name names the database, at the top of each page. Default: none.
	Name string
	// CommandEnd ends each command that is shown, such as " --schema shop", as a shell reads it.
	// Default: "".
	CommandEnd string
	// TraceURL shows a trace, with {trace} in place of its id; RunbookURL a handler, with
	// {consumer} and {handler}. http and https only. Default: no link.
	TraceURL, RunbookURL string
	// Log gets errors that the person cannot fix. Default: slog.Default.
	Log *slog.Logger
}

// Content is what a message says.
type Content struct {
	// Payload are its bytes, and Headers its metadata.
	Payload []byte
	Headers map[string]string
	// Hidden says in words what Redact has blanked.
	Hidden []string
}

// New returns the pages of a database. It starts nothing, and is safe for concurrent use. st stays
// open as long as it is served.
func New(st store.Store, o Options) http.Handler {
	if o.Hosts == nil {
		o.Hosts = login.Loopback()
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	o.Path = "/" + strings.Trim(o.Path, "/")
	s := &server{
		st: st, o: o, read: read.Reader{Store: st, TraceURL: o.TraceURL, RunbookURL: o.RunbookURL}, root: strings.TrimSuffix(o.Path, "/"), views: frame.Parse(sources, strings.TrimSuffix(o.Path, "/")),
	}
	mux := http.NewServeMux()
	for _, r := range routes {
		mux.HandleFunc(r.method+" "+s.root+r.path, func(w http.ResponseWriter, req *http.Request) { s.serve(w, req, r) })
	}
	files := http.StripPrefix(s.root+"/", http.FileServerFS(assets))
	mux.HandleFunc("GET "+s.root+"/assets/{file}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=600")
		files.ServeHTTP(w, r)
	})
	if o.Identify == nil {
		mux = http.NewServeMux()
		mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "each request is refused: Options.Identify is not set", http.StatusForbidden)
		})
	}
	return login.Guard(o.Hosts, mux)
}

// server serves the pages.
type server struct {
	st    store.Store
	o     Options
	read  read.Reader
	root  string // Options.Path without the slash at its end
	views frame.Views
}
