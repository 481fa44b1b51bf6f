package watching

import (
	"testing"
	"time"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
)

// Local events that no consumer takes, as those of a mistyped topic, fire after a while.
func TestUnclaimedEvents(t *testing.T) {
	onEachStore(t, func(t *testing.T, st store.Store) {
		p := newProcess(t, st, "p", "production", alerts.Options{})
		lost := func(after time.Duration) []alerts.Alert {
			return p.see(facts{now: noon.Add(after), deep: true, outboxes: []outbox.Status{
				{Outbox: outbox.Unclaimed, Ready: 3}, {Outbox: outbox.LineOf("c"), Ready: 2},
			}})
		}
		if early := append(lost(0), lost(9*time.Minute)...); len(early) > 0 {
			t.Errorf("too early: %s", said(early))
		}
		if got := lost(10 * time.Minute); said(got) != "work_without_owner firing warning" || got[0].Count != 3 {
			t.Errorf("%s: %+v", said(got), got)
		}
	})
}
