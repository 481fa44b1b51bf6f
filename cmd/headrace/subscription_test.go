package main

import (
	"strings"
	"testing"

	"github.com/headrace/headrace"
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
	if err := st.Operations().Subscriptions.Subscribe(t.Context(), "old", []string{"orders.paid"}); err != nil {
		t.Fatal(err)
	}
	tx, err := st.DB().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	for _, topic := range []string{"orders.paid", "orders.piad"} {
		if err := outbox.New(st.Outbox()).Publish(t.Context(), tx, headrace.Event{Topic: topic, Payload: []byte("{}"), Local: true}); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	says := func(want int, text string, args ...string) {
		t.Helper()
		p.run(want, nil, args...)
		if all := p.stdout.String() + p.stderr.String(); !strings.Contains(all, text) {
			t.Errorf("%v: no %q in\n%s", args, text, all)
		}
	}
	says(exitDone, "orders.paid", "subscription", "ls")
	says(exitDone, "local/old", "outbox", "status")
	says(exitDone, "1 subscription and 1 event moved", "subscription", "move", "old", "new", "--yes")
	says(exitPartial, "1 local event waits: no consumer is subscribed", "status")
	says(exitPartial, "new: 1 local event waits and no process runs", "status")
	says(exitRefused, "nothing was done: 1 event waits for new", "subscription", "remove", "new", "--yes")
	says(exitDone, "new", "subscription", "ls", "new")
	says(exitDone, `"events": 1`, "subscription", "remove", "new", "orders.paid", "--events", "--yes", "-o", "json")
	says(exitFailed, "no such subscription", "subscription", "remove", "new", "--yes")
	says(exitFailed, "has no subscription", "subscription", "move", "old", "new", "--yes")
}
