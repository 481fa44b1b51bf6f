package schedule_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headrace/headrace/schedule"
	"github.com/headrace/headrace/store"
)

// standing is the store of a process that can stand still.
type standing struct {
	store.Store
	store.Schedules
	still, stands atomic.Bool
}

func (s *standing) Operations() store.Operations {
	o := s.Store.Operations()
	s.Schedules, o.Schedules = o.Schedules, s
	return o
}

func (s *standing) Beat(ctx context.Context, one store.Schedule) (store.Schedule, error) {
	for s.still.Load() && ctx.Err() == nil {
		s.stands.Store(true)
		time.Sleep(time.Millisecond)
	}
	return s.Schedules.Beat(ctx, one)
}

// A process that stood still, as on a suspended machine, goes on with the ticks that it would
// catch up after a start: none that is older than Within, which the inbox may have forgotten,
// and none of the past of a changed expression.
//
//evidence:schedule
func TestStoodStill(t *testing.T) {
	s := schedule.Schedule{Name: "h", Cron: "@hourly", CatchUp: schedule.All, Within: 24 * time.Hour}
	other := s
	other.Cron = "@daily"
	resume := noon.Add(240*time.Hour + time.Minute)
	for name, c := range map[string]struct {
		meanwhile func(*bed)
		want      int
		missed    int
	}{
		"alone": {func(*bed) {}, 24, 1},
		"others went on": {func(b *bed) {
			stop := b.process(s)
			for at := noon.Add(time.Minute); !at.After(resume); at = at.Add(12 * time.Hour) {
				b.set(at)
				b.until(int(at.Sub(noon) / time.Hour))
			}
			stop()
			b.exec("DELETE FROM headrace_inbox WHERE key < $1", schedule.ID("h", resume.Add(-100*time.Hour))) // they are pruned
		}, 240, 0},
		"changed and back": {func(b *bed) {
			b.set(resume.Add(-2 * time.Hour))
			for _, one := range []schedule.Schedule{other, s} {
				b.declared(one)()
			}
		}, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			onEachStore(t, func(b *bed) {
				clock := &standing{Store: b.st}
				b.set(noon.Add(time.Minute))
				b.clock = clock
				b.declared(s)
				b.clock = nil
				clock.still.Store(true)
				b.eventually("it stands still", clock.stands.Load)
				c.meanwhile(b)
				b.set(resume)
				clock.still.Store(false)
				b.until(c.want)
				b.set(resume.Add(time.Hour)) // the next one comes after all that were due
				b.eventually("it goes on", func() bool {
					return slices.Contains(b.done(), schedule.ID("h", resume.Truncate(time.Hour).Add(time.Hour)))
				})
				if got := b.done(); len(got) != c.want+1 || len(slices.Compact(slices.Clone(got))) != len(got) {
					b.Errorf("%d ticks: %v", len(got), got)
				}
				b.mu.Lock()
				defer b.mu.Unlock()
				if len(b.alerts) != c.missed {
					b.Errorf("alerts %+v", b.alerts)
				}
			})
		})
	}
}
