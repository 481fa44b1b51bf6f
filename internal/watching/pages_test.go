package watching

import (
	"log/slog"
	"testing"
	"time"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/store"
)

// The pages judge the database as soon as no process of a consumer is left to do it, and as often as
// these would; before that they leave it to them.
//
//evidence:alert
func TestPagesTakeOver(t *testing.T) {
	onEachStore(t, func(t *testing.T, st store.Store) {
		instances := st.Operations().Instances
		if err := instances.Start(t.Context(), instance.Instance{ID: "p", Consumer: "c"}); err != nil {
			t.Fatal(err)
		}
		o := alerts.Options{}.WithDefaults()
		ui := New(Options{Store: st, Owner: "ui", Alerts: o, Logger: slog.New(slog.DiscardHandler)})
		waits := func(want time.Duration) {
			t.Helper()
			if every, err := ui.between(t.Context()); err != nil || every != want {
				t.Errorf("%s, %v, want %s", every, err, want)
			}
		}
		waits(27 * time.Second)
		if err := instances.End(t.Context(), "p"); err != nil {
			t.Fatal(err)
		}
		waits(newProcess(t, st, "p2", "", o).every * 9 / 10)
		if looked, err := ui.look(t.Context(), "", false); err != nil || !looked {
			t.Errorf("%v, %v", looked, err)
		}
	})
}
