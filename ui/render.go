package ui

import (
	"bytes"
	"embed"
	"fmt"
	"net/http"
	"path"

	"github.com/headrace/headrace/ui/frame"
	"github.com/headrace/headrace/ui/view"
	"github.com/headrace/headrace/ui/who"
)

//go:embed assets/*.css assets/*.js assets/htmx.LICENSE
var assets embed.FS

//go:embed templates
var sources embed.FS

// page shows a page, or the part of it that is alive where htmx asks for that.
func (v *visit) page(status int, name, title, nav string, data any) error {
	f := frame.Frame{
		Title: title, Nav: nav, Name: v.s.o.Name, CommandEnd: v.s.o.CommandEnd, Person: v.who, Operates: v.who.Role.May(who.Operator), Administers: v.who.Role.May(who.Admin), D: data,
		Note: v.note, Bad: status >= 400, Refresh: v.refresh, Typed: v.typed,
	}
	if status >= 400 && v.r.Method == http.MethodPost {
		f.Typed = frame.TypedInto(path.Base(v.r.URL.Path), v.r.PostForm)
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
