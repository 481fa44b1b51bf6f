package schedule_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/headrace/headrace/schedule"
)

// daily is a schedule, and what it means in plain words: at these minutes of these hours, on
// these days of the week (all without any). Instants has a time that comes twice twice, and
// one that does not exist never; the others come once a day.
type daily struct {
	schedule.Schedule
	hours, minutes []int
	days           []time.Weekday
	instants       bool
}

// plan are schedules in eight zones, at times at which clocks change.
func plan() []daily {
	sunday := []time.Weekday{time.Sunday}
	list := []daily{
		{schedule.Schedule{Cron: "0 0 * * *", Zone: "UTC"}, []int{0}, []int{0}, nil, false},
		{schedule.Schedule{Cron: "30 2 * * 1", Zone: "Asia/Kolkata"}, []int{2}, []int{30}, []time.Weekday{time.Monday}, false},
		{schedule.Schedule{Cron: "30 1,2 * * *", Zone: "Europe/Berlin"}, []int{1, 2}, []int{30}, nil, false},
		{schedule.Schedule{Cron: "30 1,2 * * *", Zone: "America/New_York"}, []int{1, 2}, []int{30}, nil, false},
		{schedule.Schedule{Cron: "0,30 0 * * 0", Zone: "America/Havana"}, []int{0}, []int{0, 30}, sunday, false}, // has days without a midnight
		{schedule.Schedule{Cron: "30 2 * * *", Zone: "Africa/Casablanca"}, []int{2}, []int{30}, nil, false},      // changes for Ramadan
		{schedule.Schedule{Cron: "15,45 1,2 * * 0", Zone: "Australia/Lord_Howe"}, []int{1, 2}, []int{15, 45}, sunday, false},
		{schedule.Schedule{Cron: "0 3 * * *", Zone: "Pacific/Chatham"}, []int{3}, []int{0}, nil, false},
	}
	for i := range list {
		list[i].Name, list[i].CatchUp, list[i].Within = list[i].Zone, schedule.All, 10*24*time.Hour
	}
	return list
}

// changed is what the schedule of New York is changed to: its hour comes twice in autumn.
var changed = daily{
	schedule.Schedule{Name: "America/New_York", Cron: "*/30 1 * * 0", Zone: "America/New_York", CatchUp: schedule.All, Within: 10 * 24 * time.Hour},
	[]int{1}, []int{0, 30}, []time.Weekday{time.Sunday}, true,
}

// ticks are the ids that are due after from, and until to, by the clock on the wall.
func (d daily) ticks(t *testing.T, from, to time.Time) (ids []string) {
	t.Helper()
	zone, err := time.LoadLocation(d.Zone)
	if err != nil {
		t.Fatal(err)
	}
	for day := from.AddDate(0, 0, -2); day.Before(to.AddDate(0, 0, 2)); day = day.AddDate(0, 0, 1) {
		if len(d.days) > 0 && !slices.Contains(d.days, day.Weekday()) {
			continue
		}
		for n := range len(d.hours) * len(d.minutes) {
			for _, at := range d.due(day, d.hours[n/len(d.minutes)], d.minutes[n%len(d.minutes)], zone) {
				if id := schedule.ID(d.Name, at); at.After(from) && !at.After(to) && !slices.Contains(ids, id) {
					ids = append(ids, id)
				}
			}
		}
	}
	return ids
}

// due are the ticks of a time of day on a date.
func (d daily) due(day time.Time, hour, minute int, zone *time.Location) (all []time.Time) {
	at := time.Date(day.Year(), day.Month(), day.Day(), hour, minute, 0, 0, zone)
	for _, step := range []time.Duration{-time.Hour, -30 * time.Minute, 0, 30 * time.Minute, time.Hour} { // the clock changes by one of these
		if other := at.Add(step).In(zone); other.Hour() == hour && other.Minute() == minute {
			all = append(all, other)
		}
	}
	switch {
	case d.instants:
		return all
	case len(all) > 0:
		return all[:1]
	}
	_, offset := time.Date(day.Year(), day.Month(), day.Day()-1, 12, 0, 0, 0, zone).Zone() // as if the clock had not been changed
	return []time.Time{time.Date(day.Year(), day.Month(), day.Day(), hour, minute, 0, 0, time.FixedZone("", offset))}
}

// Three processes make every tick, and each is handled once: over a year in eight zones, with
// processes that come and go, weeks without any, and a changed expression. In the short form
// it is the three weeks in which Berlin, Havana and New York put their clocks back.
//
//evidence:schedule
func TestEachTickOnce(t *testing.T) {
	start, weeks, change, quarter := time.Date(2026, 1, 1, 9, 7, 0, 0, time.UTC), 52, 28, 13 // no tick is due for hours after nine
	if testing.Short() {
		start, weeks, change, quarter = time.Date(2026, 10, 16, 9, 7, 0, 0, time.UTC), 3, 2, 3
	}
	onEachStore(t, func(b *bed) {
		lines := plan()
		run := func() func() {
			var list []schedule.Schedule
			for _, l := range lines {
				list = append(list, l.Schedule)
			}
			return b.process(list...)
		}
		b.set(start)
		stops := []func(){run(), run(), run()}
		b.eventually("the schedules are known", func() bool {
			return b.number("SELECT count(*) FROM headrace_schedules WHERE seen_at IS NOT NULL") == len(lines)
		})
		var want []string
		for n, at := 1, start; n <= weeks; n++ {
			one := n % len(stops)
			stops[one]()
			switch {
			case n == change: // the others still have the old expression, and make no ticks of it
				lines[3] = changed
				stops[one] = run()
				b.eventually("the expression is changed", func() bool {
					return b.number("SELECT count(*) FROM headrace_schedules WHERE cron = '"+changed.Cron+"'") == 1
				})
			case n%quarter == 0:
				for _, stop := range stops {
					stop()
				}
			}
			for _, l := range lines {
				want = append(want, l.ticks(t, at, at.AddDate(0, 0, 7))...)
			}
			at = at.AddDate(0, 0, 7)
			b.set(at)
			for i := range stops {
				if i == one && n != change || n%quarter == 0 || n == change+1 {
					stops[i]() // if it still runs
					stops[i] = run()
				}
			}
			b.allOf(want)
		}
		for _, stop := range stops {
			stop()
		}
		b.only(want)
	})
}

// allOf waits for these ticks, for as long as some come.
func (b *bed) allOf(want []string) {
	b.Helper()
	for got, last := 0, time.Now(); got < len(want); time.Sleep(2 * time.Millisecond) {
		if n := b.number("SELECT count(*) FROM ticks"); n > got {
			got, last = n, time.Now()
		} else if time.Since(last) > bound {
			done := b.done()
			b.Fatalf("no tick for %s, %d of %d; missing: %v", bound, n, len(want),
				slices.DeleteFunc(slices.Clone(want), func(id string) bool { return slices.Contains(done, id) }))
		}
	}
}

// only fails unless these ticks were handled, each once, and there is nothing to tell of.
func (b *bed) only(want []string) {
	b.Helper()
	times := make(map[string]int, len(want)) // handled too often, or less than 0
	for _, id := range want {
		times[id]--
	}
	for _, id := range b.done() {
		times[id]++
	}
	maps.DeleteFunc(times, func(_ string, n int) bool { return n == 0 })
	if len(times) > 0 {
		b.Errorf("handled too often, or not: %v", times)
	}
	if n := b.number("SELECT count(*) FROM headrace_dead_letters"); n > 0 || len(b.alerts) > 0 {
		b.Errorf("%d dead letters, alerts %v", n, b.alerts)
	}
	b.Logf("%d ticks, which came again %d times", len(want), b.duplicates())
}
