package alerting

import (
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/headrace/headrace/alerts"
)

const (
	// maxGroups is how many groups a book knows at a time, besides those that take one
	// of them back.
	maxGroups = 256
	// maxTries is how often an alert of this process is tried, unless it is owed.
	maxTries = 5
)

// group names alerts of this process that say the same.
type group struct {
	kind              alerts.Kind
	consumer, handler string
}

// entry is what a book knows of a group.
type entry struct {
	alert    alerts.Alert // with what waits; Count is 0 if nothing does
	failures int
	due      time.Time
}

// book debounces: it holds alerts back until their group is due, and counts them
// meanwhile. It is not safe for concurrent use.
type book struct {
	o       alerts.Options
	groups  map[group]*entry
	pairs   map[group]*pair // of the groups, by group.pair
	calls   []time.Time     // within the last minute
	dropped int64
}

func newBook(o alerts.Options) *book {
	return &book{o: o.WithDefaults(), groups: make(map[group]*entry), pairs: make(map[group]*pair)}
}

// add counts a in.
func (b *book) add(a alerts.Alert) {
	key := group{a.Kind, a.Consumer, a.Handler}
	e := b.groups[key]
	if e == nil {
		if len(b.groups) >= maxGroups && b.groups[key.opposite()] == nil {
			b.dropped++
			return
		}
		e = new(entry)
		b.groups[key] = e
	}
	e.add(a)
	b.turn(key, a)
	b.supersede(key.opposite(), key)
}

// add makes a the newest of what waits.
func (e *entry) add(a alerts.Alert) {
	a.Count, a.Since = max(a.Count, 1), earliest(a.Since, a.At)
	if old := e.alert; old.Count > 0 {
		a.ID, a.Count, a.Since = old.ID, a.Count+old.Count, earliest(old.Since, a.Since)
	}
	if a.ID == "" {
		a.ID = "alert-" + uuid.NewString()
	}
	e.alert = a
}

func earliest(t, u time.Time) time.Time {
	if t.IsZero() || u.Before(t) {
		return u
	}
	return t
}

// dueAt is when the entry of key may be sent. A hook that fails for it or for its
// opposite is left in peace until it may be tried again.
func (b *book) dueAt(key group) time.Time {
	at := b.groups[key].due
	if settled, ok := b.settled(key); ok && settled.Before(at) {
		at = settled
	}
	for _, name := range []group{key, key.opposite()} {
		if e := b.groups[name]; e != nil && e.failures > 0 && e.due.After(at) {
			at = e.due
		}
	}
	return at
}

// take returns what is to be sent now, by time, and counts it as sent. It forgets
// groups that are quiet. all says that nothing is held back any more.
func (b *book) take(now time.Time, all bool) []alerts.Alert {
	var due []group
	for key, e := range b.groups {
		switch {
		case e.alert.Count > 0 && (all || !b.dueAt(key).After(now)):
			due = append(due, key)
		case e.alert.Count == 0 && !e.due.After(now):
			b.forget(key)
		}
	}
	b.calls = slices.DeleteFunc(b.calls, func(t time.Time) bool { return now.Sub(t) >= time.Minute })
	if room := b.o.PerMinute - len(b.calls); len(due) > room && !all || len(due) > b.o.PerMinute {
		due = b.merge(due, now)
		slices.SortFunc(due, b.older)
		if !all {
			due = due[:min(len(due), max(room, 0))]
		}
	}
	slices.SortFunc(due, b.older)
	list := make([]alerts.Alert, len(due))
	for i, key := range due {
		e := b.groups[key]
		list[i] = e.alert
		e.alert = alerts.Alert{}
		b.goes(key, e.due.After(now))
		e.due = now.Add(b.o.Quiet)
		b.calls = append(b.calls, now)
	}
	return list
}

func (b *book) older(x, y group) int {
	return cmp.Or(b.groups[x].alert.At.Compare(b.groups[y].alert.At), cmp.Compare(x.kind, y.kind), cmp.Compare(x.handler, y.handler))
}

// merge sums the groups of each kind up in one without a handler.
func (b *book) merge(keys []group, now time.Time) []group {
	byKind := make(map[alerts.Kind][]group)
	for _, key := range keys {
		byKind[key.kind] = append(byKind[key.kind], key)
	}
	var merged []group
	for kind, list := range byKind {
		if len(list) == 1 {
			merged = append(merged, list[0])
			continue
		}
		sum := group{kind: kind, consumer: list[0].consumer}
		total := new(entry)
		for _, key := range list {
			a := b.groups[key].alert
			total.alert.Groups += max(a.Groups, 1)
			if key != sum {
				b.groups[key].alert = alerts.Alert{}
				b.groups[key].due = now.Add(b.o.Quiet)
			}
			groups := total.alert.Groups
			total.add(a)
			total.alert.Groups = groups
		}
		total.alert.Handler, total.alert.Topic = "", ""
		b.groups[sum] = total
		merged = append(merged, sum)
	}
	return merged
}

// failed puts an alert back that was not passed on, and reports whether it is tried
// again. One that is not true any more is counted in with what is.
func (b *book) failed(a alerts.Alert, now time.Time, err error) bool {
	key := group{a.Kind, a.Consumer, a.Handler}
	e := b.groups[key]
	if e == nil {
		return false
	}
	e.failures++
	if !b.current(key) {
		e.alert, e.due = a, now.Add(delay(e.failures, err))
		b.supersede(key, key.opposite())
		return true
	}
	if e.failures >= maxTries && !b.owed(key) {
		e.failures = 0
		return false
	}
	if newer := e.alert; newer.Count > 0 {
		a.Count, a.At, a.Text = a.Count+newer.Count, newer.At, newer.Text
	}
	e.alert, e.due = a, now.Add(delay(e.failures, err))
	return true
}

// passed notes what people know, and forgets the failures of a group and its opposite.
func (b *book) passed(a alerts.Alert) {
	key := group{a.Kind, a.Consumer, a.Handler}
	for _, name := range []group{key, key.opposite()} {
		if e := b.groups[name]; e != nil {
			e.failures = 0
		}
	}
	if p := b.pairs[key.pair()]; p != nil {
		p.told = key.kind
	}
}

// next is when take has something to do again; false if never.
func (b *book) next(now time.Time) (at time.Time, ok bool) {
	for key, e := range b.groups {
		due := e.due
		if e.alert.Count > 0 {
			due = b.dueAt(key)
			if len(b.calls) >= b.o.PerMinute && due.Before(b.calls[0].Add(time.Minute)) {
				due = b.calls[0].Add(time.Minute)
			}
		}
		if !ok || due.Before(at) {
			at, ok = due, true
		}
	}
	if at.Before(now) {
		at = now
	}
	return at, ok
}
