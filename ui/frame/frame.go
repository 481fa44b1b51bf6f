package frame

import (
	"crypto/rand"
	"fmt"
	"html/template"
	"io/fs"
	"strconv"
	"time"

	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/ui/read"
	"github.com/headrace/headrace/ui/view"
	"github.com/headrace/headrace/ui/who"
)

// Views are the templates, by page.
type Views map[string]*template.Template

// Parse reads the templates in the folder templates of sources, for pages below root. It panics if they cannot be read.
func Parse(sources fs.FS, root string) Views {
	funcs := template.FuncMap{
		"at": func(parts ...any) (string, error) { return view.At(root, parts...) },
		"to": func(path string, pairs ...string) string { return view.To(root, path, pairs...) },
		"count": func(n any) string {
			i, _ := strconv.ParseInt(fmt.Sprint(n), 10, 64)
			return view.Count(i)
		},
		"plural": view.Plural, "span": view.Span, "clock": view.Clock, "digits": view.Digits, "rate": view.Rate, "took": view.Took, "short": encode.Short, "dash": view.Dash, "shell": view.Shell, "flags": view.Flags, "seen": view.Seen,
		"ago": func(t time.Time) string { return view.Ago(t, time.Now()) }, "web": read.Web,
		"inc": func(n int) int { return n + 1 }, "number": view.Number, "navigation": view.Navigation, "nonce": rand.Text,
	}
	base := template.Must(template.New("base").Funcs(funcs).ParseFS(sources, "templates/base.html", "templates/parts.html"))
	all := make(Views)
	for _, page := range []string{"overview", "groups", "group", "letter", "redrive", "request", "search", "redrives", "consumers", "outbox", "audit", "backlog", "inbox", "error", "choose", "shared", "steps", "edit", "newkey", "cancel"} {
		all[page] = template.Must(template.Must(base.Clone()).ParseFS(sources, "templates/"+page+".html"))
	}
	return all
}

// Frame is what each page has, with the data D of its own.
type Frame struct {
	// Title is that of the page, Nav the entry of the menu that it belongs to.
	Title, Nav string
	// Name is that of the database, CommandEnd the end of each command.
	Name, CommandEnd string
	// Person looks at it.
	Person who.Person
	// Operates says that the person may act, Administers that also what needs an admin.
	Operates, Administers bool
	// Note is what has just happened; "" for nothing. Bad says that it was refused.
	Note string
	Bad  bool
	// Refresh makes a browser without JavaScript ask again.
	Refresh bool
	// Typed is what was typed; nil for nothing.
	Typed *Typed
	D     any
}
