package schedule_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/schedule"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// known has the schedule be known since a time.
func (b *bed) known(s schedule.Schedule, since time.Time) {
	b.Helper()
	b.set(since)
	b.declared(s)()
}

// declared starts a process, and waits until its schedule is the one of the database.
func (b *bed) declared(s schedule.Schedule) (stop func()) {
	b.Helper()
	stop = b.process(s)
	b.eventually("the schedule is known", func() bool {
		row, _, err := b.st.Operations().Schedules.Get(b.Context(), s.Name)
		return err == nil && row.Cron == s.Cron && !row.Seen.IsZero()
	})
	return stop
}

// After an outage the newest tick comes with Last, and each with All; nothing from before
// the schedule was known, and nothing older than Within.
//
//evidence:schedule
func TestCatchUp(t *testing.T) {
	for name, c := range map[string]struct {
		catchUp schedule.CatchUp
		away    time.Duration
		want    []string
		missed  bool
	}{
		"last":          {schedule.Last, 5 * time.Hour, []string{"h@2026-03-01T17:00:00Z"}, false},
		"all":           {schedule.All, 3 * time.Hour, []string{"h@2026-03-01T13:00:00Z", "h@2026-03-01T14:00:00Z", "h@2026-03-01T15:00:00Z"}, false},
		"longer ago":    {schedule.All, 30 * time.Hour, nil, true},
		"none was due":  {schedule.All, 10 * time.Minute, nil, false},
		"all, and last": {schedule.Last, 30 * time.Hour, []string{"h@2026-03-02T18:00:00Z"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			onEachStore(t, func(b *bed) {
				s := schedule.Schedule{Name: "h", Cron: "@hourly", CatchUp: c.catchUp, Within: 24 * time.Hour}
				b.set(noon.Add(time.Minute))
				b.declared(s)()
				b.set(noon.Add(c.away + 2*time.Minute))
				b.process(s)
				want := c.want
				if name == "longer ago" { // 24 of 30
					for at := noon.Add(7 * time.Hour); !at.After(noon.Add(c.away)); at = at.Add(time.Hour) {
						want = append(want, schedule.ID("h", at))
					}
				}
				b.until(len(want))
				if got := b.done(); !slices.Equal(got, want) {
					b.Errorf("handled %v", got)
				}
				if n := b.number("SELECT count(*) FROM ticks WHERE late"); n != len(want) {
					b.Errorf("%d are late", n)
				}
				b.mu.Lock()
				defer b.mu.Unlock()
				if missed := len(b.alerts) == 1 && b.alerts[0].Kind == alerts.ScheduleMissed; missed != c.missed {
					b.Errorf("alerts %+v", b.alerts)
				}
			})
		})
	}
}

// A changed expression begins anew, and a process with the old one makes no more ticks.
//
//evidence:schedule
func TestChangedSchedule(t *testing.T) {
	onEachStore(t, func(b *bed) {
		old := schedule.Schedule{Name: "h", Cron: "0 * * * *", CatchUp: schedule.All}
		changed := schedule.Schedule{Name: "h", Cron: "30 * * * *", CatchUp: schedule.All}
		b.known(old, noon.Add(time.Minute))
		b.process(old)
		b.set(noon.Add(time.Hour))
		b.until(1)
		b.set(noon.Add(105 * time.Minute)) // after 13:30
		b.declared(changed)
		b.set(noon.Add(155 * time.Minute)) // 14:35
		b.until(2)
		want := []string{"h@2026-03-01T13:00:00Z", "h@2026-03-01T14:30:00Z"}
		if got := b.done(); !slices.Equal(got, want) {
			b.Errorf("handled %v", got)
		}
	})
}

// A person asks for a tick, which comes once, however many processes run.
func TestFire(t *testing.T) {
	onEachStore(t, func(b *bed) {
		s := schedule.Schedule{Name: "h", Cron: "@yearly"}
		b.known(s, noon)
		b.process(s)
		b.process(s)
		if err := schedule.Fire(t.Context(), b.st, "h", "ana"); err != nil {
			b.Fatal(err)
		}
		b.until(1)
		b.process(s)()
		if got, n := b.done(), b.number("SELECT count(*) FROM ticks WHERE fired"); len(got) != 1 || n != 1 {
			b.Errorf("handled %v, %d of them fired", got, n)
		}
	})
}

// A tick that a person asks for is refused while the last one is not done: before a process has
// it, while it works, also in a transaction that others do not see, and while it is put off.
// After that the next may come at once.
func TestFireWhileOneIsNotDone(t *testing.T) {
	for name, leased := range map[string]bool{"in a transaction": false, "under a lease": true} {
		t.Run(name, func(t *testing.T) {
			onEachStore(t, func(b *bed) {
				fire := func(want error) {
					b.Helper()
					if err := schedule.Fire(b.Context(), b.st, "h", "ana"); !errors.Is(err, want) {
						b.Fatalf("%v, want %v", err, want)
					}
				}
				fire(schedule.ErrUnknown)
				s := schedule.Schedule{Name: "h", Cron: "@yearly"}
				b.known(s, noon)
				fire(nil)
				b.set(noon.Add(10 * time.Minute))
				fire(schedule.ErrBusy)
				working, goOn := make(chan struct{}), make(chan struct{})
				work := func() {
					working <- struct{}{}
					<-goOn
				}
				b.start([]schedule.Schedule{s}, func(on *consumer.Consumer, src *schedule.Source, name string) {
					if leased {
						schedule.HandleLeased(on, src, name, func(_ context.Context, m *headrace.Message[schedule.Tick]) (headrace.Effects, error) {
							work()
							return func(ctx context.Context, tx *headrace.Tx) error { return insert(ctx, tx, m.Body) }, nil
						})
						return
					}
					schedule.Handle(on, src, name, func(ctx context.Context, tx *headrace.Tx, t schedule.Tick) error {
						work()
						return insert(ctx, tx, t)
					})
				})
				<-working
				fire(schedule.ErrBusy)
				goOn <- struct{}{}
				b.until(1)
				b.eventually("the next", func() bool { return schedule.Fire(b.Context(), b.st, "h", "ana") == nil })
				<-working
				goOn <- struct{}{}
				b.until(2)
				b.eventually("its run ends", func() bool { return b.number("SELECT count(*) FROM headrace_backlog") == 0 })
				b.exec("DELETE FROM headrace_inbox")
				fire(schedule.ErrBusy) // pruned by hand: none has come, as far as it is known
				b.set(noon.Add(36 * 24 * time.Hour))
				fire(nil) // no process makes the last one any more
				<-working
				goOn <- struct{}{}
				b.until(3)
			})
		})
	}
}

// With Last, no queue builds up behind a run that takes longer than the distance of two
// ticks: what is outdated when it starts is skipped.
func TestOutdatedTicksAreSkipped(t *testing.T) {
	onEachStore(t, func(b *bed) {
		s := schedule.Schedule{Name: "h", Cron: "@hourly"}
		b.known(s, noon.Add(time.Minute))
		b.exec("INSERT INTO ticks (at, late, fired) VALUES ('h@2026-03-01T11:00:00Z', false, false)")
		b.set(noon.Add(time.Hour))
		b.process(s)
		b.until(2)
		b.set(noon.Add(5 * time.Hour)) // four are due at once
		b.eventually("the newest is handled", func() bool { return slices.Contains(b.done(), "h@2026-03-01T17:00:00Z") })
		b.eventually("the others are skipped", func() bool { return b.number("SELECT count(*) FROM headrace_inbox WHERE stale") == 3 })
	})
}

// What is nil is refused before anything runs, and not called at the first tick.
func TestNil(t *testing.T) {
	if _, err := schedule.NewSource(nil, schedule.Options{}); err == nil || !strings.Contains(err.Error(), "the store is nil") {
		t.Errorf("NewSource: %v", err)
	}
	onEachStore(t, func(b *bed) {
		src, err := schedule.NewSource(b.st, schedule.Options{Schedules: []schedule.Schedule{{Name: "a", Cron: "@daily"}}})
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = src.Close() }()
		work := func(context.Context, *headrace.Tx, schedule.Tick) error { return nil }
		for want, register := range map[string]func(c *consumer.Consumer){
			`"a": the function is nil`:      func(c *consumer.Consumer) { schedule.Handle(c, src, "a", nil) },
			`"a": the function is nil, too`: func(c *consumer.Consumer) { schedule.HandleLeased(c, src, "a", nil) },
			"*schedule.Source that is nil":  func(c *consumer.Consumer) { schedule.Handle(c, nil, "a", work) },
		} {
			c, err := consumer.New("test", b.st, consumer.Config{})
			if err != nil {
				b.Fatal(err)
			}
			register(c)
			if err := c.Err(); err == nil || !strings.Contains(err.Error(), strings.TrimSuffix(want, ", too")) {
				b.Errorf("%s: %v", want, err)
			}
		}
	})
}

// Mistakes are refused, with the schedule and its field.
func TestNewSource(t *testing.T) {
	onEachStore(t, func(b *bed) {
		for want, s := range map[string][]schedule.Schedule{
			"no Schedules":   nil,
			"Name is empty":  {{Cron: "@daily"}},
			"given twice":    {{Name: "a", Cron: "@daily"}, {Name: "a", Cron: "@daily"}},
			"five years":     {{Name: "a", Cron: "0 0 31 2 *"}},
			"CatchUp":        {{Name: "a", Cron: "@daily", CatchUp: "none"}},
			"give it a unit": {{Name: "a", Cron: "@daily", Within: 24}},
			"Zone":           {{Name: "a", Cron: "@daily", Zone: "CEST"}},
		} {
			if _, err := schedule.NewSource(b.st, schedule.Options{Schedules: s}); err == nil || !strings.Contains(err.Error(), want) {
				b.Errorf("%s: %v", want, err)
			}
		}
		for _, c := range []struct {
			s    schedule.Schedule
			want time.Duration
		}{
			{schedule.Schedule{Name: "a", Cron: "@hourly"}, 24 * time.Hour}, {schedule.Schedule{Name: "a", Cron: "@weekly"}, 7 * 24 * time.Hour},
			{schedule.Schedule{Name: "a", Cron: "@yearly"}, 35 * 24 * time.Hour}, {schedule.Schedule{Name: "a", Cron: "@daily", Within: time.Hour}, time.Hour},
		} {
			src, err := schedule.NewSource(b.st, schedule.Options{Schedules: []schedule.Schedule{c.s}})
			if err != nil || src.TopicRetention("a") != c.want || src.TopicRetention("b") != 0 {
				b.Errorf("%s: %v", c.s.Cron, err)
			}
			if _, err := src.Subscribe(t.Context(), "b"); err == nil {
				b.Error("subscribed to a schedule that is not there")
			}
			_ = src.Close()
			if _, err := src.Subscribe(t.Context(), "a"); err == nil {
				b.Error("subscribed after Close")
			}
		}
	})
}

// A tick that was handled comes again when a process starts, and says then that it is late:
// it is a duplicate all the same, and no conflict. The consumer's own key is not asked.
//
//evidence:schedule
func TestTickAgainIsADuplicate(t *testing.T) {
	onEachStore(t, func(b *bed) {
		s := schedule.Schedule{Name: "h", Cron: "@hourly"}
		b.set(noon.Add(time.Minute))
		stop := b.declared(s)
		b.set(noon.Add(time.Hour))
		b.until(1)
		stop()
		stop = b.process(s)
		b.eventually("it was taken", func() bool { return b.number("SELECT count(*) FROM headrace_dead_letters") > 0 || b.duplicates() > 0 })
		stop()
		if n := b.number("SELECT count(*) FROM headrace_dead_letters"); n != 0 {
			b.Errorf("%d dead letters", n)
		}
		if got := b.done(); len(got) != 1 {
			b.Errorf("handled %v", got)
		}
	})
}
