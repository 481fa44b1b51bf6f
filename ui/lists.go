package ui

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/headrace/headrace/audit"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/search"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/ui/asked"
	"github.com/headrace/headrace/ui/read"
	"github.com/headrace/headrace/ui/view"
	"github.com/headrace/headrace/ui/who"
)

// pageShown is how many rows a list shows.
const pageShown = 50

// cursor is where a list goes on; 0 at its beginning.
func cursor(v *visit) (int64, error) {
	text := v.r.Form.Get("cursor")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, refuse(http.StatusBadRequest, "The cursor is a number.")
	}
	return n, nil
}

func overview(v *visit) error {
	d, err := v.s.read.Overview(v.ctx())
	if err != nil {
		return err
	}
	return v.page(http.StatusOK, "overview", "Overview", "", d)
}

// requestPage shows what became of a request, or goes to the redrive that it has made or changed.
func requestPage(v *visit) error {
	id, err := v.number()
	if err != nil {
		return err
	}
	d, err := asked.Read(v.ctx(), v.s.read, id)
	switch {
	case errors.Is(err, instance.ErrGone):
		return refuse(http.StatusNotFound, "There is no request with this number, or retention has removed it.")
	case err != nil:
		return err
	case d.Redrive != 0:
		return v.numbered("r", d.Redrive)
	}
	v.refresh = !d.Done && d.Error == ""
	return v.page(http.StatusOK, "request", "Request "+view.Count(id), "search", struct {
		*asked.Request
		Form asked.Form
	}{d, d.Back(v.who)})
}

// find goes to what a person looks for.
func find(v *visit) error {
	path, err := v.s.read.Find(v.ctx(), strings.TrimSpace(v.r.Form.Get("q")), v.who.Role.May(who.Operator))
	if err != nil {
		return err
	}
	return v.redirect(v.s.root + path)
}

// searchData is what the search shows.
type searchData struct {
	Filter     map[string]string
	Flags      string // of the command that does the same
	Letters    []dlq.Letter
	Looked, Of int64
	Next       string
	States     []string
	Classes    []dlq.Class
}

func searchPage(v *visit) error {
	get := v.r.Form.Get
	f, flags, err := read.Search(get, time.Now())
	if err != nil {
		return refuse(http.StatusBadRequest, "%v.", err)
	}
	if !v.who.Role.May(who.Operator) && (f.Where != "" || f.Text != "" && !read.IsTrace(f.Text)) {
		return refuse(http.StatusForbidden, "To search in what messages say needs the role %s.", who.Operator)
	}
	from, err := cursor(v)
	if err != nil {
		return err
	}
	page, err := search.Letters(v.ctx(), v.s.st.Letters(), search.Request{Filter: f, Cursor: from, Limit: pageShown})
	if err != nil {
		return err
	}
	d := searchData{
		Filter: make(map[string]string), Flags: flags, Letters: page.Letters, Looked: page.Looked, Of: page.Of, Next: view.Next(v.r.URL, page.Cursor),
		States: []string{"open", "redriven", "discarded", "any"}, Classes: dlq.Classes(),
	}
	for name := range v.r.URL.Query() {
		d.Filter[name] = get(name)
	}
	return v.page(http.StatusOK, "search", "Dead letters", "search", d)
}

// groupsPage lists groups with open letters, or those that are resolved.
func groupsPage(v *visit) error {
	from, err := cursor(v)
	if err != nil {
		return err
	}
	state := v.r.Form.Get("state")
	if state != "" && state != "open" && state != "resolved" {
		return refuse(http.StatusBadRequest, "The state of groups is open or resolved.")
	}
	d, end, err := v.s.read.Groups(v.ctx(), v.r.Form.Get("consumer"), state == "resolved", from, pageShown)
	if err != nil {
		return err
	}
	d.Next = view.Next(v.r.URL, end)
	return v.page(http.StatusOK, "groups", "Groups", "search", d)
}

func outboxes(v *visit) error { return showOutboxes(v, http.StatusOK) }

func showOutboxes(v *visit, status int) error {
	after, err := cursor(v)
	if err != nil {
		return err
	}
	d, end, err := read.OutboxesOf(v.ctx(), v.s.st, v.r.Form.Get("outbox"), after, pageShown)
	if err != nil {
		return err
	}
	d.Next = view.Next(v.r.URL, end)
	return v.page(status, "outbox", "Outbox", "outbox", d)
}

func auditPage(v *visit) error {
	from, err := cursor(v)
	if err != nil {
		return err
	}
	f := audit.Filter{Kind: v.r.Form.Get("kind"), Subject: strings.TrimSpace(v.r.Form.Get("subject"))}
	if (f.Kind == "") != (f.Subject == "") {
		return refuse(http.StatusBadRequest, "A subject is a kind and its id or name: give both, or none.")
	}
	d, end, err := read.AuditOf(v.ctx(), v.s.st, f, from, pageShown)
	if err != nil {
		return err
	}
	d.Next = view.Next(v.r.URL, end)
	return v.page(http.StatusOK, "audit", "Audit", "audit", d)
}

func backlogPage(v *visit) error { return showBacklog(v, http.StatusOK) }

func showBacklog(v *visit, status int) error {
	from, err := cursor(v)
	if err != nil {
		return err
	}
	get := v.r.Form.Get
	f := backlog.Filter{Consumer: get("consumer"), Handler: get("handler"), Status: get("status"), ErrorFingerprint: get("group")}
	d := struct {
		backlog.Filter
		Rows     []backlog.Row
		Groups   []read.BacklogGroup
		Next     string
		Statuses []string
		MaxLook  int64
		Flags    string
	}{Filter: f, Flags: view.Flags("consumer", f.Consumer, "handler", f.Handler, "status", f.Status, "group", f.ErrorFingerprint), Statuses: []string{"ready", "delayed", "blocked", "leasable", "leased"}, MaxLook: backlog.MaxLook}
	rows, end, err := v.s.st.Operations().Waiting.List(v.ctx(), f, from, pageShown)
	if err != nil {
		return err
	}
	d.Rows, d.Next = rows, view.Next(v.r.URL, end)
	if from == 0 {
		if d.Groups, err = v.s.read.BacklogGroups(v.ctx(), f); err != nil {
			return err
		}
	}
	return v.page(status, "backlog", "Backlog", "backlog", d)
}

func inboxPage(v *visit) (err error) {
	key := v.r.Form.Get("key")
	var rows []read.InboxRow
	if key != "" {
		if rows, err = v.s.read.Inbox(v.ctx(), key, pageShown); err != nil {
			return err
		}
	}
	return v.page(http.StatusOK, "inbox", "Inbox", "inbox", map[string]any{"Key": key, "Rows": rows})
}
