package ui

import (
	"bytes"
	"crypto/rand"
	"embed"
	"fmt"
	"html/template"
	"strconv"
	"time"

	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/ui/read"
	"github.com/headrace/headrace/ui/view"
	"github.com/headrace/headrace/ui/who"
)

//go:embed assets/*.css assets/*.js assets/htmx.LICENSE
var assets embed.FS

//go:embed templates
var sources embed.FS

// views are the templates, by page.
type views map[string]*template.Template

// parse reads the templates for pages below root.
func parse(root string) views {
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
	all := make(views)
	for _, page := range []string{"overview", "group", "letter", "redrive", "request", "search", "redrives", "consumers", "outbox", "audit", "backlog", "inbox", "error", "choose", "shared", "steps", "edit", "newkey", "cancel"} {
		all[page] = template.Must(template.Must(base.Clone()).ParseFS(sources, "templates/"+page+".html"))
	}
	return all
}

// frame is what each page has, with the data D of its own.
type frame struct {
	// Title is that of the page, Nav the entry of the menu that it belongs to.
	Title, Nav string
	// Name is that of the database, CommandEnd the end of each command.
	Name, CommandEnd string
	Person           who.Person
	// Operates says that the person may act, Administers that also what needs an admin.
	Operates, Administers bool
	// Note is what has just happened; "" for nothing. Bad says that it was refused.
	Note string
	Bad  bool
	// Refresh makes a browser without JavaScript ask again.
	Refresh bool
	D       any
}

// page shows a page, or the part of it that is alive where htmx asks for that.
func (v *visit) page(status int, name, title, nav string, data any) error {
	f := frame{
		Title: title, Nav: nav, Name: v.s.o.Name, CommandEnd: v.s.o.CommandEnd, Person: v.who, Operates: v.who.Role.May(who.Operator), Administers: v.who.Role.May(who.Admin), D: data,
		Note: v.note, Bad: status >= 400, Refresh: v.refresh,
	}
	part := "page"
	if v.live() {
		part = "live"
	}
	var b bytes.Buffer
	if err := v.s.views[name].ExecuteTemplate(&b, part, f); err != nil {
		return fmt.Errorf("show the page %s: %w", name, err)
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.WriteHeader(status)
	_, _ = v.w.Write([]byte(view.Visible(b.String()))) // the reader is gone, or not
	return nil
}

// live reports whether htmx asks for the part of the page that is alive.
func (v *visit) live() bool { return v.r.Method == "GET" && v.r.Header.Get("HX-Request") != "" }
