package watching

import (
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/internal/enginetest"
	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

// Events that no process takes are found; a consumer that has a handler, or nothing to do, is not.
func TestStalledTopics(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		subscriptions := f.Store.Operations().Subscriptions
		subscribe := func(consumer string, topics ...string) {
			f.Helper()
			if err := subscriptions.Subscribe(f.Context(), map[string][]string{consumer: topics}); err != nil {
				f.Fatal(err)
			}
		}
		publish := func(topic string) {
			f.Helper()
			f.In(func(t *txn.Txn) error {
				row := outbox.RowOf(headrace.Event{ID: "of " + topic, Topic: topic, Payload: []byte("x"), Local: true})
				return f.Store.Outbox().Insert(f.Context(), t, []outbox.Row{row})
			})
		}
		w := New(Options{Store: f.Store, Alerts: alerts.Options{}.WithDefaults()})
		stalled := func() map[string][]outbox.TopicStatus {
			f.Helper()
			list, err := w.stalledTopics(f.Context())
			if err != nil {
				f.Fatal(err)
			}
			return list
		}
		subscribe("gone", "t", "u")
		subscribe("idle", "u")
		subscribe("runs", "t")
		publish("t")
		if got := stalled(); len(got) > 0 {
			f.Errorf("too early: %+v", got)
		}
		if f.SQLite { // three minutes later
			f.Exec("UPDATE headrace_clock SET shift_us = 180000000")
		} else if err := pgtest.ShiftClock(f.Context(), f.DB, 3*time.Minute); err != nil {
			f.Fatal(err)
		}
		subscribe("runs", "t")
		publish("u") // just now
		if got := stalled(); len(got) != 1 || len(got["gone"]) != 1 || got["gone"][0].Topic != "t" || got["gone"][0].Events != 1 {
			f.Errorf("%+v", got)
		}
		if _, err := subscriptions.Remove(f.Context(), "gone", nil, true, "ann"); err != nil {
			f.Fatal(err)
		}
		if got := stalled(); len(got) > 0 {
			f.Errorf("then %+v", got)
		}
	})
}
