package ui_test

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/editing"
	"github.com/headrace/headrace/internal/redriving"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/ui"
	"github.com/headrace/headrace/ui/who"
)

// denied is the error of a login that may not do it.
type denied struct{}

func (denied) Error() string    { return "permission denied" }
func (denied) SQLState() string { return "42501" }

// readOnly is a database whose login may write nothing that a person decides.
type readOnly struct{ store.Store }

type (
	noRequests struct{ instance.Requests }
	noGroups   struct{ groups.Store }
	noPauses   struct{ instance.Pauses }
	noSystems  struct{ ledger.Systems }
)

func (noRequests) Ask(context.Context, instance.Request, time.Duration) (int64, error) {
	return 0, denied{}
}
func (noGroups) Note(context.Context, groups.ID, groups.Note) error       { return denied{} }
func (noPauses) Pause(context.Context, instance.Pause) (bool, error)      { return false, denied{} }
func (noSystems) Known(context.Context, string) (bool, error)             { return true, nil }
func (noSystems) Pause(context.Context, ledger.SystemPause) (bool, error) { return false, denied{} }

func (s readOnly) Operations() store.Operations {
	o := s.Store.Operations()
	o.Requests, o.Groups, o.Pauses, o.Systems = noRequests{o.Requests}, noGroups{o.Groups}, noPauses{o.Pauses}, noSystems{o.Systems}
	return o
}

// holds fails unless a form of the last answer has the texts in its fields, and what is around it is open.
func (f *fixture) holds(suffix string, texts ...string) {
	f.Helper()
	before, form, found := strings.Cut(f.body, suffix+`"`)
	form, _, _ = strings.Cut(form, "</form>")
	for _, text := range texts {
		if !found || !strings.Contains(html.UnescapeString(form), text) {
			f.Errorf("%s: the form %s does not hold %q: %s", f.at, suffix, text, form)
		}
	}
	if at := strings.LastIndex(before, "<details"); at > strings.LastIndex(before, "</details>") {
		if around, _, _ := strings.Cut(before[at:], ">"); !strings.HasSuffix(around, " open") {
			f.Errorf("%s: the form %s is closed", f.at, suffix)
		}
	}
}

// What a person typed comes back with the reason where the login of the database may not do it, where something is
// missing, and where the form is not there any more.
func TestTypedTextComesBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.me.Role = who.Admin
	deliver, _, _ := f.keyed()
	for _, payload := range []string{`{"id":"A","total":-1}`, `{"id":"A","total":2}`, `{"id":"B","total":-1}`, `{"id":"W","total":100}`} {
		deliver(payload)
	}
	f.counted()
	if _, err := redrive.New(f.st).Discard(t.Context(), redrive.Request{Filter: dlq.Filter{IDs: []int64{3}}, By: "bo", Reason: "a test"}); err != nil {
		t.Fatal(err)
	}
	f.get("/l/1")
	f.click("/plan")
	f.get("/backlog")
	group, cancel := "/g/"+f.letterNow(1).ErrorFingerprint, regexp.MustCompile(`/backlog/[0-9]+/cancel`).FindString(f.body)
	f.pages = ui.New(readOnly{f.st}, ui.Options{Identify: func(*http.Request) (who.Person, error) { return f.me, nil }})
	const why = `because "it" is <new>`
	for _, form := range []struct {
		page, action string
		typed        []string
	}{
		{group, "/note", []string{"note", "line\nand <b>line</b>", "assignee", "bo & ann", "link", "https://tickets/7"}},
		{"/r/1", "/apply", []string{"reason", why}},
		{"/r/1", "/cancel", []string{"reason", why}},
		{"/l/3", "/restore", []string{"reason", why}},
		{"/consumers", "/pause", []string{"reason", why}},
		{"/steps", "/pause", []string{"reason", why, "name", "bank", "for", "1h"}},
		{"/l/2/newkey", "/newkey", []string{"key", "A 2", "again", "A 2", "reason", why}},
		{cancel, "/cancel", []string{"reason", why}},
		{"/l/1", "/edit", []string{"payload", "{\"id\":\n\"A\"}", "reason", why}},
	} {
		f.get(form.page)
		if form.action == "/edit" {
			f.click("/editor")
		}
		f.click(form.action, form.typed...)
		f.wants(http.StatusForbidden, "The login of the database may not do this")
		var texts []string
		for i := 1; i < len(form.typed); i += 2 {
			texts = append(texts, form.typed[i])
		}
		f.holds(form.action, texts...)
		if strings.Contains(f.body, "to be copied") {
			t.Errorf("%s: it is there twice", f.at)
		}
	}
	isRefused(f, group)
}

// isRefused fails unless what a form lacks is said beside what was typed, and what has no form is there to be copied.
func isRefused(f *fixture, group string) {
	f.Helper()
	const why = "because"
	f.get(group)
	f.click("/note", "note", "kept", "link", "ftp://x")
	f.wants(http.StatusBadRequest, "not one of http")
	f.holds("/note", "kept", "ftp://x")
	f.get("/r/1")
	path, form := f.form("/apply")
	form.Set("reason", " ")
	f.send("POST", path, form)
	f.wants(http.StatusBadRequest, "Say why", "Redrive 1 letter?")
	// Where the page has no such form, or cannot be shown, it is to be copied.
	form.Set("reason", why)
	f.me.Role = who.Viewer
	f.send("POST", path, form)
	f.wants(http.StatusForbidden, "needs the role operator", "What you typed, to be copied: Reason "+why)
	f.me.Role = who.Operator
	form.Set("note", "line")
	f.send("POST", "/g/0123456789abcdef/note", form)
	f.wants(http.StatusNotFound, "to be copied: Note line Reason "+why)
}

// askedLate is a request by ann that a process has refused.
func (f *fixture) askedLate(kind string, args any) int64 {
	f.Helper()
	requests, self := f.st.Operations().Requests, instance.Instance{ID: "p", Consumer: "billing", Host: "pod-1", Build: "v1"}
	r, err := instance.Request{Kind: kind, Consumer: "billing", By: "ann", Reason: "late <why>"}.With(args)
	if err != nil {
		f.Fatal(err)
	}
	id, err := requests.Ask(f.Context(), r, time.Minute)
	if err == nil {
		_, _, err = requests.Take(f.Context(), self, []string{kind})
	}
	if err == nil {
		err = requests.Answer(f.Context(), id, self, instance.Answer{State: instance.RequestRefused, Error: "it was late"})
	}
	if err != nil {
		f.Fatal(err)
	}
	return id
}

// A request that was refused after the page had gone on leads the person who asked back to its form, with what was typed,
// and no other person.
func TestLateRefusalLeadsBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.me.Role = who.Admin
	deliver, _, stop := f.keyed()
	deliver(`{"id":"A","total":-1}`)
	deliver(`{"id":"A","total":2}`)
	deliver(`{"id":"B","total":-1}`)
	f.get("/l/3")
	f.click("/plan")
	f.get("/l/1")
	f.click("/discard")
	stop()
	for _, of := range []struct {
		kind  string
		args  any
		form  string
		typed []string
	}{
		{redriving.KindApply, redriving.Apply{ID: 1}, "/r/1/apply", []string{"late <why>"}},
		{redriving.KindCancel, redriving.Which{ID: 2}, "/r/2/cancel", []string{"late <why>"}},
		{editing.NewKeyKind, editing.NewKey{LetterID: 2, Key: "A 2"}, "/l/2/newkey", []string{"late <why>", "A 2"}},
	} {
		id := f.askedLate(of.kind, of.args)
		page := fmt.Sprint("/q/", id)
		f.me = who.Person{Name: "bo", Role: who.Admin}
		f.get(page)
		if f.wants(http.StatusOK, "it was late"); strings.Contains(f.body, "Open the form again") {
			t.Errorf("%s: another person gets the form", of.kind)
		}
		f.get(fmt.Sprint(of.form[:4], "?typed=", id))
		if strings.Contains(f.text(), "late <why>") {
			t.Errorf("%s: another person gets what was typed", of.kind)
		}
		f.me = who.Person{Name: "ann", Role: who.Admin}
		f.get(page)
		f.wants(http.StatusOK, "it was late", "Open the form again, with what you typed")
		f.get(html.UnescapeString(regexp.MustCompile(`href="([^"]*typed=[^"]*)"`).FindStringSubmatch(f.body)[1]))
		f.wants(http.StatusOK)
		f.holds(of.form, of.typed...)
	}
}
