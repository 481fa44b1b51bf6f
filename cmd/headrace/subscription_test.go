package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/sqlite"
)

// Subscriptions are listed, moved with the events that wait, and not removed while events
// wait, unless asked; status shows who waits for whom.
func TestSubscriptions(t *testing.T) {
	p := newProgram(t)
	st, err := sqlite.Open(t.Context(), strings.TrimPrefix(p.dsn, "sqlite:"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	if err := st.Operations().Subscriptions.Subscribe(t.Context(), map[string][]string{"old": {"orders.paid"}}); err != nil {
		t.Fatal(err)
	}
	publish(t, st, headrace.Event{Topic: "orders.paid", Payload: []byte("{}"), Local: true}, headrace.Event{Topic: "orders.piad", Payload: []byte("{}"), Local: true})
	says := func(want int, text string, args ...string) {
		t.Helper()
		p.run(want, nil, args...)
		if all := p.stdout.String() + p.stderr.String(); !strings.Contains(all, text) {
			t.Errorf("%v: no %q in\n%s", args, text, all)
		}
	}
	instances := st.Operations().Instances
	if err := instances.Start(t.Context(), instance.Instance{ID: "i", Consumer: "old"}); err != nil {
		t.Fatal(err)
	}
	says(exitDone, "orders.paid", "subscription", "ls")
	says(exitDone, "local/old", "outbox", "status")
	says(exitUsage, "FROM and TO are the same consumer, old", "subscription", "move", "old", "old", "--yes")
	says(exitRefused, "refused: nothing was done: a process of old runs: stop it first (one that was killed counts for 12s), see headrace consumer ls\n", "subscription", "move", "old", "new", "--yes")
	says(exitRefused, "nothing was done: a process of old runs and has a local handler: stop it, or deploy it without the handler and wait 2 minutes, see headrace subscription ls old and headrace consumer ls\n", "subscription", "remove", "old", "--events", "--yes")
	if err := instances.End(t.Context(), "i"); err != nil {
		t.Fatal(err)
	}
	if err := st.Operations().Subscriptions.Subscribe(t.Context(), map[string][]string{"other": {"mails"}}); err != nil {
		t.Fatal(err)
	}
	says(exitDone, "warning: other has subscriptions, and none to orders.paid: without a handler for it the events wait\n", "subscription", "move", "old", "other", "--dry-run")
	says(exitDone, "1 subscription", "subscription", "remove", "other", "--yes")
	says(exitDone, "a message that it has handled and that comes again is applied again by new", "subscription", "move", "old", "new", "--yes")
	says(exitPartial, "s: no consumer is subscribed: deploy one", "status")
	says(exitPartial, "s: new, of which no process runs: start one; headrace subscription move new NEW", "status")
	says(exitRefused, "nothing was done: 1 event waits for new: start a process that handles events, or delete them with --events\n", "subscription", "remove", "new", "--yes")
	says(exitDone, "new", "subscription", "ls", "new")
	says(exitDone, `"events": 1`, "subscription", "remove", "new", "orders.paid", "--events", "--yes", "-o", "json")
	says(exitFailed, "no such subscription", "subscription", "remove", "new", "--yes")
	says(exitFailed, "has no subscription", "subscription", "move", "old", "new", "--yes")
}

// status is not calm about events on a line and rows of the backlog whose handler no process
// has, though their consumer runs.
func TestStatusOfMissingHandlers(t *testing.T) {
	p := newProgram(t)
	st, err := sqlite.Open(t.Context(), strings.TrimPrefix(p.dsn, "sqlite:"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	operations := st.Operations()
	err = errors.Join(operations.Subscriptions.Subscribe(t.Context(), map[string][]string{"billing": {"orders.paid", "orders.lost"}}),
		operations.Instances.Start(t.Context(), instance.Instance{ID: "i", Consumer: "billing", Handlers: []string{"orders.paid"}}))
	if err != nil {
		t.Fatal(err)
	}
	publish(t, st, headrace.Event{Topic: "orders.paid", Payload: []byte("{}"), Local: true}, headrace.Event{Topic: "orders.lost", Payload: []byte("{}"), Local: true})
	if err := seedDB(p.dsn, "", "retried", "k1"); err != nil { // of the handler orders.paid
		t.Fatal(err)
	}
	p.run(exitDone, nil, "status")
	exec := func(query string) {
		t.Helper()
		if _, err := st.DB().ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	exec("UPDATE headrace_subscriptions SET seen_at = seen_at - 180000000 WHERE topic = 'orders.lost'")
	exec("UPDATE headrace_outbox SET created_at = created_at - 180000000")
	p.run(exitPartial, nil, "status")
	want := "s: billing, of which no process has a local handler for the topic: deploy one, or delete them: headrace subscription remove billing orders.lost --events"
	if got := p.stdout.String(); !strings.Contains(got, want) || !strings.Contains(got, "1 event of orders.lost, oldest 3m") || strings.Contains(got, "of orders.paid") {
		t.Errorf("no %q in\n%s", want, got)
	}
	exec("UPDATE headrace_subscriptions SET seen_at = seen_at + 180000000 WHERE topic = 'orders.lost'")
	exec(`UPDATE headrace_instances SET handlers = '["invoices"]'`)
	p.run(exitPartial, nil, "status")
	want = "billing: 1 message waits for the handler orders.paid, which no process has, oldest ready for 0s: deploy one, see headrace backlog ls --consumer billing --handler orders.paid"
	if got := p.stdout.String(); !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
}

// Events that a program published without Local, in a database without a Sink, are named by
// topic, with the command that gives them to local handlers.
func TestEventsWithoutAPublisher(t *testing.T) {
	p := newProgram(t)
	st, err := sqlite.Open(t.Context(), strings.TrimPrefix(p.dsn, "sqlite:"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	publish(t, st, headrace.Event{Topic: "orders.paid", Payload: []byte("{}")}, headrace.Event{Topic: "it's", Payload: []byte("{}")})
	for _, command := range [][]string{{"status"}, {"outbox", "status"}} {
		want := map[bool]int{true: exitPartial, false: exitDone}[len(command) == 1]
		p.run(want, nil, command...)
		for _, want := range []string{"1 event of orders.paid, oldest", "headrace outbox local orders.paid", `headrace outbox local 'it'\''s'`, "Event.Local"} {
			if got := p.stdout.String(); !strings.Contains(got, want) {
				t.Errorf("%v: no %q in\n%s", command, want, got)
			}
		}
	}
	p.run(exitDone, nil, "outbox", "status", "-o", "json")
	if got := p.stdout.String(); !strings.Contains(got, `"topic": "orders.paid"`) {
		t.Errorf("no topic in %s", got)
	}
	p.run(exitFailed, nil, "outbox", "local", "other", "--yes")
	if err := seedDB(p.dsn, "", "relay", "default"); err != nil {
		t.Fatal(err)
	}
	p.run(exitRefused, nil, "outbox", "local", "--yes")
	if _, err := st.DB().ExecContext(t.Context(), "DELETE FROM headrace_relays"); err != nil {
		t.Fatal(err)
	}
	p.run(exitUsage, func(m *Main) { m.Stdin = strings.NewReader("n\n") }, "outbox", "local", "orders.paid") // which no terminal said
	p.run(exitDone, nil, "outbox", "local", "orders.paid", "--yes")
	if got := p.stdout.String(); !strings.Contains(got, "1 event is local") {
		t.Error(got)
	}
	p.run(exitPartial, nil, "status")
	if got := p.stdout.String(); !strings.Contains(got, "1 event of orders.paid, oldest") || strings.Contains(got, "local orders.paid") {
		t.Error(got)
	}
}

// publish writes events in a transaction of a program's.
func publish(t *testing.T, st *sqlite.Store, events ...headrace.Event) {
	t.Helper()
	tx, err := st.DB().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if err := outbox.New(st.Outbox()).Publish(t.Context(), tx, events...); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}
