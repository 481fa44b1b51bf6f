package ui

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/headrace/headrace/ui/answer"
	"github.com/headrace/headrace/ui/asked"
	"github.com/headrace/headrace/ui/frame"
	"github.com/headrace/headrace/ui/read"
	"github.com/headrace/headrace/ui/who"
)

// maxForm bounds the body of a request: an edit of 64 KiB, of which each byte may take six.
const maxForm = 400 << 10

// visitTime bounds what the database takes for a request: proxies wait for a minute.
const visitTime = 30 * time.Second

// visit is one request by a person.
type visit struct {
	s   *server
	w   http.ResponseWriter
	r   *http.Request
	who who.Person
	// note is shown at the top of the page; refresh makes it ask again.
	note    string
	refresh bool
	// present shows the present state, once what the person decided on is known. typed is what was typed before.
	present present
	typed   *frame.Typed
}

func (v *visit) ctx() context.Context { return v.r.Context() }

func refuse(status int, format string, args ...any) error {
	return &answer.Refusal{Status: status, Says: fmt.Sprintf(format, args...)}
}

// serve finds out who asks and whether that person may, and answers.
func (s *server) serve(w http.ResponseWriter, r *http.Request, to route) {
	ctx, end := context.WithTimeout(r.Context(), visitTime)
	defer end()
	r = r.WithContext(ctx)
	v := &visit{s: s, w: w, r: r}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	unread := r.ParseForm() // first, so that a person who is refused gets back what was typed
	person, err := who.Ask(s.o.Identify, r)
	switch {
	case errors.Is(err, who.ErrUnknown):
		err = refuse(http.StatusUnauthorized, "You are not signed in.")
	case err != nil:
		s.o.Log.WarnContext(v.ctx(), "headrace: a person was refused", "error", err)
		err = refuse(http.StatusForbidden, "You may not look at this.")
	case !person.Role.May(to.needs):
		err = refuse(http.StatusForbidden, "This needs the role %s, and yours is %s.", to.needs, person.Role)
	default:
		v.who = person
		if unread != nil || !read.Texts(r.Form) {
			err = refuse(http.StatusBadRequest, "The form cannot be read.")
		} else if v.typed, err = asked.Recall(v.ctx(), s.st.Operations().Requests, r, s.root, person.Name); err == nil {
			err = to.do(v)
		}
	}
	if err != nil {
		v.fail(err)
	}
}

// fail shows an error: with the present state of what the person decided on, where that is known.
func (v *visit) fail(err error) {
	status, says, ours := answer.Status(v.r, err)
	if status == 0 {
		return // the person is gone
	}
	if ours {
		v.s.o.Log.ErrorContext(v.ctx(), "headrace: a page failed", "path", v.r.URL.Path, "error", err)
	}
	v.note = says
	if present := v.present; present != nil && v.ctx().Err() == nil {
		if v.present = nil; present(status) == nil {
			return
		}
	}
	v.r.Header.Del("HX-Request") // errors are whole pages, which htmx leaves out
	if err := v.page(status, "error", http.StatusText(status), "", nil); err != nil {
		v.s.o.Log.ErrorContext(v.ctx(), "headrace: a page failed", "path", v.r.URL.Path, "error", err)
	}
}

// nowhere is each path that is no page.
func nowhere(*visit) error { return refuse(http.StatusNotFound, "There is no such page.") }

// number is the id in the path.
func (v *visit) number() (int64, error) {
	id, err := strconv.ParseInt(v.r.PathValue("id"), 10, 64)
	if err != nil || id < 1 {
		return 0, refuse(http.StatusNotFound, "There is nothing with this number.")
	}
	return id, nil
}

// go to another page of ours, after an action or a search.
func (v *visit) redirect(path string) error {
	if v.r.Header.Get("HX-Request") != "" {
		v.w.Header().Set("HX-Redirect", path)
		v.w.WriteHeader(http.StatusOK)
		return nil
	}
	http.Redirect(v.w, v.r, path, http.StatusSeeOther)
	return nil
}

// numbered goes to the page of something with a number.
func (v *visit) numbered(kind string, id int64) error {
	return v.redirect(v.s.root + "/" + kind + "/" + strconv.FormatInt(id, 10))
}
