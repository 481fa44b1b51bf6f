package ui_test

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/audit"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/memsource"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/storetest"
	"github.com/headrace/headrace/store/txn"
	"github.com/headrace/headrace/ui/view"
	"github.com/headrace/headrace/ui/who"
)

// keyed runs the consumer billing, whose key is in the payload: a negative total is a dead letter, one of 100
// waits for an hour, and others are applied. It returns what was applied.
func (f *fixture) keyed() (deliver func(payload string), applied func() []string, stop func()) {
	f.Helper()
	source := memsource.New()
	c, err := consumer.New("billing", f.st, consumer.Config{Build: "v1", Source: source, Rehearsable: true})
	if err != nil {
		f.Fatal(err)
	}
	var mu sync.Mutex
	var all []string
	consumer.Handle(c, "orders.paid", func(_ context.Context, _ *headrace.Tx, m *headrace.Message[paid]) error {
		switch {
		case m.Body.Total < 0:
			return retry.Permanent(errors.New("the total is negative"))
		case m.Body.Total == 100:
			return retry.After(time.Hour, errors.New("not yet"))
		}
		mu.Lock()
		defer mu.Unlock()
		all = append(all, fmt.Sprint(m.Key, " ", m.Body.Total))
		return nil
	}, consumer.Key(inbox.JSON("id")))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	f.eventually("a process runs", func() bool {
		list, err := f.st.Operations().Instances.List(f.Context(), "billing")
		return err == nil && len(list) > 0 && list[0].Ended.IsZero()
	})
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			f.Error(err)
		}
	})
	f.Cleanup(stop)
	n := 0
	deliver = func(payload string) {
		f.Helper()
		n++
		m := source.Deliver("orders.paid", fmt.Sprint("m-", n), []byte(payload), map[string]string{"h": "kept"})
		if acked, err := memsource.Outcome(f.Context(), m); err != nil || !acked {
			f.Fatal(acked, err)
		}
	}
	return deliver, func() []string { mu.Lock(); defer mu.Unlock(); return append([]string{}, all...) }, stop
}

var textarea = regexp.MustCompile(`(?s)<textarea name="payload"[^>]*>\n?(.*?)</textarea>`)

// typed is the text in the form of an edit, as a browser has it.
func (f *fixture) typed() string {
	f.Helper()
	found := textarea.FindStringSubmatch(f.body)
	if found == nil {
		f.Fatalf("%s has no payload to edit:\n%s", f.at, f.text())
	}
	return html.UnescapeString(found[1])
}

// answers fails unless the process answers so. It reports whether the answer came while the page waited for it: what was
// refused later is told on the page of the request.
func (f *fixture) answers(status int, texts ...string) (soon bool) {
	f.Helper()
	if soon = status == http.StatusOK || !strings.HasPrefix(f.at, "/q/"); !soon {
		status = http.StatusOK
	}
	if strings.HasPrefix(f.at, "/q/") {
		f.eventually("the answer", func() bool { f.get(f.at); return !strings.Contains(f.body, "waiting for a process") })
	}
	f.wants(status, texts...)
	return soon
}

func (f *fixture) letterNow(id int64) dlq.Letter {
	f.Helper()
	l, err := f.st.Letters().Get(f.Context(), id)
	if err != nil {
		f.Fatal(err)
	}
	return l
}

// An admin edits a letter on its page: the process checks it, and a redrive applies the edit once. What
// is refused stays in the form; what another person has edited meanwhile is not overwritten.
//
//evidence:edit
func TestEditOnThePage(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(f *fixture, _ store.Store) {
		f.me.Role = who.Admin
		deliver, applied, stop := f.keyed()
		const came = "{\n  \"id\": \"A\", \"total\": -1, \"note\": \"<b>&amp;</textarea>\"}"
		deliver(came)
		f.get("/l/1")
		f.click("/editor")
		f.wants(http.StatusOK, "Edit letter 1", "rev 0", "headrace dlq edit 1 --file FILE --reason WHY")
		if f.typed() != came {
			f.Errorf("%q is edited", f.typed())
		}
		rows, err := f.st.Operations().Audit.List(f.Context(), audit.Filter{Kind: audit.Letter, Subject: "1"}, 0, 10)
		if err != nil || len(rows) != 1 || rows[0].Action != "reveal" || rows[0].By != "ann" {
			f.Errorf("%+v, %v", rows, err)
		}
		path, late := f.form("/edit") // another tab
		f.click("/edit", "payload", `{"id":"B","total":1}`, "reason", "INC-7")
		if f.answers(http.StatusConflict, "this would be another message, B") && (f.typed() != `{"id":"B","total":1}` || !strings.Contains(f.body, `value="INC-7"`)) {
			f.Errorf("%q stays", f.typed())
		}
		f.get("/l/1")
		f.click("/editor")
		_, form := f.form("/edit")
		form["payload"], form["reason"] = []string{"{\"id\":\"A\",\r\n\"total\":7}"}, []string{"INC-7"}
		f.send("POST", path, form)
		f.answers(http.StatusOK, "letter 1 has rev 1, key A")
		f.send("POST", path, form) // a second click
		f.answers(http.StatusOK, "letter 1 has rev 1, key A")
		l := f.letterNow(1)
		if l.Rev != 1 || string(l.Message().Payload) != "{\"id\":\"A\",\n\"total\":7}" || l.Message().Metadata["h"] != "kept" || string(l.Delivery.Payload) != came {
			f.Errorf("%+v", l)
		}
		late["payload"], late["reason"] = []string{`{"id":"A","total":8}`}, []string{"INC-8"}
		f.send("POST", path, late)
		f.wants(http.StatusConflict, "nothing was done", "rev 1", "open the form again")
		if f.typed() != `{"id":"A","total":8}` || f.letterNow(1).Rev != 1 {
			f.Errorf("%q stays at rev %d", f.typed(), f.letterNow(1).Rev)
		}
		f.get("/l/1")
		f.wants(http.StatusOK, "edited, rev 1", "Edited by ann", "INC-7")
		f.click("/reveal")
		f.wants(http.StatusOK, `"total" : 7`)
		if _, err := redrive.New(f.st).Redrive(f.Context(), redrive.Request{Filter: dlq.Filter{IDs: []int64{1}}, By: "ann"}); err != nil {
			f.Fatal(err)
		}
		f.eventually("the edit is applied", func() bool { return len(applied()) == 1 })
		f.get("/l/1")
		_, seen := f.form("/reveal")
		f.send("POST", "/l/1/editor", seen)
		f.wants(http.StatusOK, "It cannot be done here: letter 1 is redriven")
		stop()
		if got := applied(); len(got) != 1 || got[0] != "A 7" {
			f.Errorf("applied: %q", got)
		}
	})
}

// A conflict is applied under a new key that is typed twice, once, after the first message was shown.
//
//evidence:edit
func TestNewKeyOnThePage(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(f *fixture, _ store.Store) {
		f.me.Role = who.Admin
		deliver, applied, stop := f.keyed()
		deliver(`{"id":"A","total":-1}`)
		deliver(`{"id":"A","total":2}`)
		f.get("/l/1")
		if strings.Contains(f.body, "newkey") {
			f.Error("the first message may have a new key")
		}
		f.get("/l/1/newkey")
		f.wants(http.StatusOK, "It cannot be done here: letter 1 has the key A")
		f.get("/l/2")
		if f.wants(http.StatusOK, "Apply under a new key"); strings.Contains(f.body, "/editor") {
			f.Error("a conflict can be edited")
		}
		f.get("/l/2/newkey")
		f.wants(http.StatusOK, "The first message under this key dead,", "From letter 1 of it, this one differs: changed $.total", "apply a message twice", "headrace dlq redrive 2 --new-key KEY --reason WHY")
		f.click("/newkey", "key", "A2", "again", "A3", "reason", "they are two")
		f.wants(http.StatusBadRequest, "the two keys differ")
		f.click("/newkey", "key", " ", "again", " ", "reason", "they are two")
		f.wants(http.StatusBadRequest, "type the key")
		f.click("/newkey", "key", "A2", "again", "A2", "reason", " ")
		f.wants(http.StatusBadRequest, "Say why")
		f.click("/newkey", "key", "A\u200b2", "again", "A\u200b2", "reason", "they are two")
		f.answers(http.StatusConflict, `the new key "A\u200b2" has a format character, which is not seen: type it anew`)
		f.get("/l/2/newkey")
		f.click("/newkey", "key", "A", "again", "A", "reason", "they are two")
		f.answers(http.StatusConflict, "the key A is taken by another message")
		f.get("/l/2/newkey")
		path, form := f.form("/newkey")
		form["key"], form["again"], form["reason"] = []string{"A2"}, []string{"A2"}, []string{"they are two"}
		f.send("POST", path, form)
		f.answers(http.StatusOK, "letter 2 is redriven under the key A2")
		f.send("POST", path, form)
		f.answers(http.StatusOK, "letter 2 is redriven under the key A2")
		form.Set("form", "another tab")
		f.send("POST", path, form)
		f.wants(http.StatusConflict, "nothing was done", "letter 2 is redriven")
		f.eventually("it is applied", func() bool { return len(applied()) == 1 })
		stop()
		if got := applied(); len(got) != 1 || got[0] != "A2 2" {
			f.Errorf("applied: %q", got)
		}
	})
}

// A message that waits becomes a dead letter of class cancelled; one that does not wait any more, or is being
// handled, is refused.
//
//evidence:waiting
func TestCancelOnThePage(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(f *fixture, _ store.Store) {
		f.me.Role = who.Admin
		deliver, _, stop := f.keyed()
		deliver(`{"id":"A","total":100}`)
		f.get("/backlog")
		f.wants(http.StatusOK, "not yet", "Cancel…")
		link := regexp.MustCompile(`/backlog/[0-9]+/cancel`).FindString(f.body)
		f.get(link)
		f.wants(http.StatusOK, "delayed", "key A", "not yet", "headrace backlog cancel A --consumer billing --handler orders.paid --reason WHY")
		f.click("/cancel", "reason", "")
		f.wants(http.StatusBadRequest, "Say why")
		path, form := f.form("/cancel")
		_, late := f.form("/cancel")
		form["reason"], late["reason"] = []string{"wrong price"}, []string{"wrong price, too"}
		f.send("POST", path, form)
		f.answers(http.StatusOK, "1 message is cancelled", "Letter 1")
		f.send("POST", path, form)
		f.answers(http.StatusOK, "1 message is cancelled")
		f.send("POST", path, late)
		f.wants(http.StatusConflict, "nothing was done", "does not wait any more")
		f.get(link)
		f.wants(http.StatusNotFound)
		if l := f.letterNow(1); l.Class != dlq.Cancelled || l.State != dlq.Open || string(l.Delivery.Payload) != `{"id":"A","total":100}` {
			f.Errorf("%+v", l)
		}
		f.get("/l/1")
		f.wants(http.StatusOK, "Cancelled by ann", "wrong price", "/ cancelled / 1")
		if strings.Contains(f.body, `href="/g/`) { // it belongs to none
			f.Errorf("the page leads to a group: %s", f.body)
		}
		stop()
	})
}

// A message that a process works on under a lease is not cancelled, and the page says why.
//
//evidence:waiting
func TestCancelOfWhatRuns(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.me.Role = who.Admin
	source := memsource.New()
	c, err := consumer.New("billing", f.st, consumer.Config{Build: "v1", Source: source})
	if err != nil {
		t.Fatal(err)
	}
	begun, end := make(chan struct{}), make(chan struct{})
	consumer.HandleLeased(c, "orders.paid", func(context.Context, *headrace.Message[paid]) (headrace.Effects, error) {
		close(begun)
		<-end
		return nil, nil
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	source.Deliver("orders.paid", "A", []byte(`{"id":"A"}`), nil)
	<-begun
	f.get("/backlog")
	f.get(regexp.MustCompile(`/backlog/[0-9]+/cancel`).FindString(f.body))
	f.wants(http.StatusOK, "leased", "key A")
	f.click("/cancel", "reason", "wrong price")
	if f.answers(http.StatusConflict, "A: it is being handled at the moment") && !strings.Contains(f.body, `value="wrong price"`) {
		t.Error("the reason is gone")
	}
	close(end)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Only admins see their actions, which need a running process.
func TestActionsOfAdmins(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	deliver, _, stop := f.keyed()
	deliver(`{"id":"A","total":-1}`)
	deliver(`{"id":"A","total":1}`)
	deliver(`{"id":"W","total":100}`)
	pages := []string{"/l/1", "/l/2", "/backlog"}
	forms := regexp.MustCompile(`/(editor|newkey|cancel)"`)
	for _, role := range []who.Role{who.Viewer, who.Operator, who.Admin} {
		f.me.Role = role
		for _, page := range pages {
			f.get(page)
			if shown := forms.MatchString(f.body); shown != (role == who.Admin) && (page != "/backlog" || role != who.Viewer) {
				t.Errorf("%s to a %s: %v", page, role, shown)
			}
		}
	}
	f.get("/backlog")
	cancelLink := regexp.MustCompile(`/backlog/[0-9]+/cancel`).FindString(f.body)
	f.get("/l/1")
	f.click("/editor")
	path, edit := f.form("/edit")
	stop()
	off := regexp.MustCompile(`<button[^>]* disabled data-off aria-describedby="idle">`)
	for _, page := range []string{"/l/1", "/l/2/newkey", cancelLink} {
		f.get(page)
		if f.wants(http.StatusOK, "No process of billing runs"); !off.MatchString(f.body) || !strings.Contains(f.body, `id="idle"`) {
			t.Errorf("%s is not disabled", page)
		}
	}
	f.get("/l/1")
	f.click("/editor")
	if !off.MatchString(f.body) || f.typed() == "" {
		t.Error("an edit is not disabled")
	}
	edit["payload"], edit["reason"] = []string{`{"id":"A","total":1}`}, []string{"INC-7"}
	f.send("POST", path, edit)
	f.wants(http.StatusServiceUnavailable, "no process of billing", "Nothing was done")
	if f.typed() != `{"id":"A","total":1}` {
		t.Errorf("%q stays", f.typed())
	}
	f.get("/l/2/newkey")
	f.click("/newkey", "key", "A2", "again", "A2", "reason", "x")
	f.wants(http.StatusServiceUnavailable, "Nothing was done")
	f.get(cancelLink)
	f.click("/cancel", "reason", "x")
	f.wants(http.StatusServiceUnavailable, "Nothing was done")
	if l := f.letterNow(1); l.Rev != 0 {
		t.Errorf("rev %d", l.Rev)
	}
}

// hostile is a database whose process, letter and admin have names that try something.
func hostile(t *testing.T) (*fixture, dlq.Letter) {
	f := newFixture(t)
	f.me = who.Person{Name: visible(evil), Role: who.Admin}
	l := letterOf(evil, "order-1")
	l.Delivery.Payload = []byte(`<script>alert(1)</script></textarea><img src=x>`)
	f.write(l)
	if err := f.st.Operations().Instances.Start(t.Context(), instance.Instance{ID: "i", Consumer: "billing", Host: evil, Build: evil, Handlers: []string{evil}}); err != nil {
		t.Fatal(err)
	}
	return f, l
}

// A bad edit is refused, changes nothing, and does nothing on the page.
func TestBadEdits(t *testing.T) {
	t.Parallel()
	f, l := hostile(t)
	f.get("/l/1")
	f.click("/editor")
	f.wants(http.StatusOK)
	f.harmless()
	if f.typed() != string(l.Delivery.Payload) {
		t.Errorf("%q is edited", f.typed())
	}
	path, form := f.form("/edit")
	for _, c := range []struct {
		payload, reason, seen, says string
		status                      int
	}{
		{"\x00", "x", "", "cannot be read", 400},
		{"\xff\xfe", "x", "", "cannot be read", 400},
		{"good", "\xff", "", "cannot be read", 400},
		{"good", "", "", "Say why", 400},
		{"good", " \t\n", "", "Say why", 400},
		{"\u202eevil\x1b[2J", "x", "", "characters that cannot be seen", 400},
		{strings.Repeat("\n", view.MaxPayload+1), "x", "", "at most 65536", 400},
		{strings.Repeat("x", 401<<10), "x", "", "cannot be read", 400},
		{string(l.Delivery.Payload), "x", "", "the payload is the same", 400},
		{evil[:40], evil, "stale", "nothing was done", 409},
		{`"'><img src=x onerror=alert(1)>`, `"><img src=x>`, `"><img src=x>`, "nothing was done", 409},
	} {
		form["payload"], form["reason"] = []string{strings.ReplaceAll(c.payload, "\n", "\r\n")}, []string{c.reason}
		sent := url.Values{}
		for name := range form {
			sent.Set(name, form.Get(name))
		}
		if c.seen != "" {
			sent.Set("seen", c.seen)
		}
		f.send("POST", path, sent)
		f.wants(c.status, c.says)
		f.harmless()
	}
	form.Del("payload")
	form.Set("reason", "x")
	f.send("POST", path, form)
	f.wants(http.StatusBadRequest, "the form has no payload")
	if f.typed() != "" {
		t.Error("values are shown, and the audit does not say so")
	}
	if now := f.letterNow(1); now.Rev != 0 {
		t.Errorf("rev %d", now.Rev)
	}
}

// Payloads that a browser would not send back as they are, and bad keys and numbers.
func TestBadInputOfAdmins(t *testing.T) {
	t.Parallel()
	f, _ := hostile(t)
	for id, payload := range map[int64]string{2: "\x00", 3: "a\r\nb", 4: "\ufefftext", 5: strings.Repeat("x", view.MaxPayload+1), 6: "\xff"} {
		l := letterOf("orders", fmt.Sprint("order-", id))
		l.Delivery.Payload = []byte(payload)
		f.write(l)
		f.get(fmt.Sprint("/l/", f.letters()[0].LetterID))
		f.click("/editor")
		f.wants(http.StatusOK, "It cannot be done here", "The command edits it")
		if textarea.MatchString(f.body) {
			t.Errorf("%q can be edited", payload)
		}
	}
	conflict := letterOf(evil, "order-1")
	conflict.Class, conflict.FirstFingerprint, conflict.Delivery.Fingerprint, conflict.Delivery.Metadata = dlq.Conflict, evil, "other", map[string]string{evil: "other"}
	waits := backlog.Item{Consumer: "billing", Handler: evil, Delivery: letterOf(evil, evil).Delivery}
	waits.Delivery.Attempt = 1
	f.tx(func(t *txn.Txn) error {
		id := inbox.ID{Scope: waits.Delivery.Scope, Key: evil}
		if err := storetest.Enter(f.Context(), f.st.Inbox(), t, inbox.Entry{ID: id, State: inbox.Waiting}); err != nil {
			return err
		}
		if _, err := f.st.Letters().Insert(f.Context(), t, []dlq.Letter{conflict}); err != nil {
			return err
		}
		return f.st.Backlog().Put(f.Context(), t, []backlog.Item{waits})
	})
	f.get("/backlog")
	for _, path := range []string{"/backlog", regexp.MustCompile(`/backlog/[0-9]+/cancel`).FindString(f.body), "/l/7", "/l/7/newkey"} {
		f.get(path)
		f.wants(http.StatusOK)
		f.harmless()
	}
	f.wants(http.StatusOK, "changed header x")
	f.click("/newkey", "key", evil[:60], "again", "x", "reason", evil)
	f.wants(http.StatusBadRequest, "the two keys differ")
	f.harmless()
	for _, key := range []string{"\x00", "\xff"} {
		f.sendOnce("POST", "/l/1/newkey", url.Values{"key": {key}, "again": {key}, "reason": {"x"}})
		f.wants(http.StatusBadRequest)
	}
	for _, wrong := range []string{"/l/0/newkey", "/l/x/newkey", "/l/999/newkey", "/backlog/0/cancel", "/backlog/x/cancel", "/backlog/9223372036854775808/cancel", "/backlog/999/cancel"} {
		f.get(wrong)
		f.wants(http.StatusNotFound)
	}
	if list, err := f.st.Operations().Audit.List(t.Context(), audit.Filter{Kind: audit.Request}, 0, 10); err != nil || len(list) > 0 {
		t.Errorf("%+v, %v", list, err)
	}
}
