package ui_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/alerts/condition"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/memsource"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
	"github.com/headrace/headrace/ui"
)

// A person pauses a consumer that does not run, and another one resumes it; a stale page changes nothing.
func TestPauseAConsumer(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fail(1)
	f.get("/consumers")
	path, stale := f.form("/pause")
	f.click("/pause")
	f.wants(http.StatusBadRequest, "Say why")
	f.get("/consumers")
	f.click("/pause", "reason", "the bank is down")
	f.wants(http.StatusOK, "paused by ann", "the bank is down", "headrace consumer resume billing")
	if p, err := f.st.Operations().Pauses.Get(t.Context(), "billing"); err != nil || !p.Lasts() || p.By != "ann" {
		t.Errorf("%+v, %v", p, err)
	}
	stale.Set("reason", "again")
	f.send("POST", path, stale)
	f.wants(http.StatusConflict, "nothing was done")
	f.me.Name = "bo"
	f.get("/consumers?consumer=billing")
	f.click("/resume")
	f.wants(http.StatusOK, "headrace consumer pause billing --reason WHY")
	f.get("/audit?kind=consumer&subject=billing")
	f.wants(http.StatusOK, "ann", "bo", "headrace audit ls --subject consumer:billing")
	stale.Set("consumer", "nobody")
	f.send("POST", path, stale)
	f.wants(http.StatusNotFound)
}

// The overview says what fires, since when and where to look, and which systems are left alone.
func TestOverviewSaysWhatFires(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ops := f.st.Operations()
	fires := func(key string, a alerts.Alert) condition.Condition {
		a.Key, a.Since, a.At, a.Phase = key, time.Now().Add(-3*time.Hour), time.Now(), alerts.Firing
		return condition.Condition{Alert: a, Namespace: a.Consumer, State: condition.Firing}
	}
	group := fires(strings.Repeat("a", 64), alerts.Alert{Kind: alerts.GroupFailing, Severity: alerts.Warning, Consumer: "billing", Handler: "orders.paid", ErrorFingerprint: "00000000000000ff", Title: "billing/orders.paid fails: <b>no</b>"})
	lag := fires(strings.Repeat("b", 64), alerts.Alert{Kind: alerts.BacklogLag, Severity: alerts.Error, Consumer: "billing", Title: "7 messages wait", Command: "headrace backlog groups --consumer billing"})
	redrive := fires(strings.Repeat("d", 64), alerts.Alert{Kind: alerts.RedrivePaused, Severity: alerts.Warning, Consumer: "billing", Topic: "R-42", Title: "R-42 has paused"})
	over := fires(strings.Repeat("c", 64), alerts.Alert{Kind: alerts.OutboxLag, Severity: alerts.Critical, Title: "it is over"})
	over.State, over.Ended = condition.Resolved, time.Now()
	sends := []condition.Send{{Key: group.Key, Sink: "slack", Phase: alerts.Firing, Sent: time.Now()}, {Key: lag.Key, Sink: "pagerduty", Lost: 1, Down: time.Now(), Due: time.Now().Add(24 * time.Hour), Error: "status 400"}}
	if ok, err := ops.Conditions.Put(t.Context(), "", "", condition.Change{Conditions: []condition.Condition{group, lag, redrive, over}, Sends: sends}); err != nil || !ok {
		t.Fatal(ok, err)
	}
	if _, err := ops.Systems.Pause(t.Context(), ledger.SystemPause{System: "bank", Left: time.Hour, By: "ann", Reason: "maintenance"}); err != nil {
		t.Fatal(err)
	}
	f.get("/")
	f.wants(http.StatusOK, "no process of billing judges this 3 h ago")
	process := instance.Instance{ID: "i-1", Consumer: "billing", Host: "pod-1", Build: "v1"}
	if err := ops.Instances.Start(t.Context(), process); err != nil {
		t.Fatal(err)
	}
	f.get("/")
	if strings.Contains(f.text(), "judges") {
		t.Error("a process runs: ", f.text())
	}
	f.wants(http.StatusOK, "3 firing", "1 of 2 sinks takes nothing", "error 7 messages wait headrace backlog groups --consumer billing 3 h ago –", "3 h ago slack",
		"warning billing/orders.paid fails: <b>no</b>", "Steps leave bank alone , paused by ann", "maintenance")
	for _, link := range []string{`href="/g/00000000000000ff?consumer=billing&amp;handler=orders.paid"`, `href="/consumers?consumer=billing"`, `href="/r/42"`} {
		if !strings.Contains(f.body, link) {
			t.Errorf("no link %s", link)
		}
	}
	if strings.Contains(f.body, "it is over") {
		t.Error("what is over fires")
	}
	if err := ops.Instances.End(t.Context(), process.ID); err != nil {
		t.Fatal(err)
	}
	sends[1].Down = time.Time{}
	if ok, err := ops.Conditions.Put(t.Context(), "", "", condition.Change{Sends: sends}); err != nil || !ok {
		t.Fatal(ok, err)
	}
	f.get("/")
	f.wants(http.StatusOK, "3 firing no process of billing judges them", "no process of billing judges this since now", "no process last seen now")
}

// Each action has, beside its form, the command that does the same.
func TestActionsShowTheirCommand(t *testing.T) {
	t.Parallel()
	commands := map[string]string{
		"/g/rehearse": "dlq rehearse", "/g/plan": "redrive plan", "/g/discard": "--discard", "/g/resolve": "dlq resolve", "/g/mute": "dlq mute", "/g/unmute": "dlq unmute", "/g/note": "dlq note",
		"/l/rehearse": "dlq rehearse", "/l/plan": "dlq redrive", "/l/discard": "dlq discard", "/l/reveal": "--reveal", "/l/download": "--reveal",
		"/r/apply": "redrive apply", "/r/pause": "redrive pause", "/r/resume": "redrive resume", "/r/cancel": "redrive cancel",
		"/l/restore": "dlq restore", "/l/editor": "dlq edit", "/l/edit": "dlq edit", "/l/newkey": "--new-key KEY", "/backlog/cancel": "backlog cancel", "/backlog/retry": "backlog retry", "/outbox/unpark": "outbox unpark", "/steps/reveal": "--payload --reveal", "/systems/pause": "system pause", "/systems/resume": "system resume", "/consumers/pause": "headrace consumer ", "/consumers/resume": "headrace consumer ",
	}
	pages := map[string]string{"g": "group", "l": "letter", "r": "redrive", "consumers": "consumers", "backlog": "backlog", "outbox": "outbox", "steps": "steps", "systems": "steps"}
	for _, r := range ui.Routes {
		if r.Method != http.MethodPost {
			continue
		}
		action := regexp.MustCompile(`\{[a-z]+\}/`).ReplaceAllString(r.Path, "")
		page := pages[strings.Split(action, "/")[1]]
		if own := filepath.Base(action); slices.Contains([]string{"/l/edit", "/l/newkey", "/backlog/cancel"}, action) {
			page = own
		}
		text, err := os.ReadFile("templates/" + page + ".html")
		if err != nil {
			t.Fatal(err)
		}
		if command := commands[action]; command == "" || !strings.Contains(string(text), command) {
			t.Errorf("%s: no command %q", action, command)
		}
	}
}

// A discard is taken back, and messages that wait are due now.
func TestRestoreAndRetry(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fail(1)
	handled := make(chan struct{}, 8)
	source, stop := f.run("v1.8.1", func(p paid) error {
		if p.ID == "later" {
			handled <- struct{}{}
			return retry.After(time.Hour, errors.New("not yet")) // it waits until it is retried
		}
		return nil
	})
	defer stop()
	f.get("/l/1")
	f.click("/discard")
	f.click("/apply", "reason", "a test order")
	f.eventually("the letter can be restored", func() bool { f.get("/l/1"); return strings.Contains(f.body, `/restore"`) })
	f.click("/restore")
	f.wants(http.StatusBadRequest, "Say why")
	f.get("/l/1")
	f.click("/restore", "reason", "it was none")
	f.wants(http.StatusOK, "1 letter is open again")
	f.get("/l/1")
	f.wants(http.StatusOK, "open", "Restored by ann")

	m := source.Deliver("orders.paid", "later", []byte(`{"id":"later"}`), nil)
	if acked, err := memsource.Outcome(t.Context(), m); err != nil || !acked {
		t.Fatal(acked, err)
	}
	<-handled
	f.get("/backlog")
	f.wants(http.StatusOK, "not yet", "headrace backlog retry --consumer billing --handler orders.paid --group ")
	path, fields := f.form("/retry")
	f.send("POST", path, fields)
	f.wants(http.StatusOK, "1 message is due now")
	first := f.at
	f.send("POST", path, fields) // a second click
	if <-handled; f.at != first {
		f.Errorf("a second click led to %s, the first one to %s", f.at, first)
	}
	fields.Set("seen", "what was before") // a stale tab
	fields.Set("form", "another tab")
	f.send("POST", path, fields)
	f.wants(http.StatusConflict, "nothing was done")
	fields.Set("group", "00000000000000ff") // of which nothing waits
	f.send("POST", path, fields)
	f.wants(http.StatusConflict, "nothing was done")
	f.get("/backlog")
	if strings.Contains(f.body, "disabled") {
		f.Error("a process runs, and cannot be asked")
	}
	stop()
	f.get("/backlog")
	f.wants(http.StatusOK, "not yet", "No process of billing runs")
	if !strings.Contains(f.body, `<button disabled data-off aria-describedby="idle0">Retry now`) || !strings.Contains(f.body, `id="idle0"`) {
		f.Errorf("no process runs, and one can be asked to retry: %s", f.body)
	}
}

// A person who has seen how many events are parked can have them published again.
func TestUnpark(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.park()
	if err := f.st.Operations().Relays.Claim(f.Context(), outbox.Relay{Outbox: f.st.Outbox().Name(), Consumers: []string{"billing", "<b>mailer"}}); err != nil {
		f.Fatal(err)
	}
	f.get("/outbox")
	f.wants(http.StatusOK, "refused", "headrace outbox unpark --all --outbox ", "<b>mailer, billing")
	path, fields := f.form("/unpark")
	f.send("POST", path, fields)
	f.wants(http.StatusOK, "None.")
	f.send("POST", path, fields)
	f.wants(http.StatusConflict, "nothing was done")
	fields.Set("outbox", "nosuch")
	f.send("POST", path, fields)
	f.wants(http.StatusNotFound)
}

// park parks an event.
func (f *fixture) park() {
	f.Helper()
	err := store.Transact(f.Context(), f.st, func(tx *txn.Txn) error {
		box := f.st.Outbox()
		if err := box.Insert(f.Context(), tx, []outbox.Row{outbox.RowOf(headrace.Event{ID: "event-1", Topic: "invoices"})}); err != nil {
			return err
		}
		for shard := range outbox.Shards {
			rows, err := box.Read(f.Context(), tx, shard, 0, 1)
			if err != nil {
				return err
			}
			for _, row := range rows {
				if err := box.Hold(f.Context(), tx, []outbox.Hold{{Row: row, Reason: outbox.Parked, Attempts: 5, Error: "refused"}}); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		f.Fatal(err)
	}
}
