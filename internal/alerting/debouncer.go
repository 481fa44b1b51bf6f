package alerting

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/headrace/headrace/alerts"
)

const (
	// maxGroups is how many groups a debouncer holds at a time.
	maxGroups = 256
	// maxTries is how often an alert of this process is tried, unless it corrects the
	// last one that was sent.
	maxTries = 5
	// settleTime is how long a state must last before its alert is sent within the quiet
	// time, because the last alert said the opposite. It doubles up to settleMost while
	// that happens again and again.
	settleTime = 5 * time.Second
	settleMost = time.Minute
)

// group names alerts of this process that are debounced together. If two kinds end each
// other, kind is the one that begins.
type group struct {
	kind              alerts.Kind
	consumer, handler string
}

// begins has for each kind that ends something, which are those that are Good, the kind that
// begins it.
var begins = map[alerts.Kind]alerts.Kind{
	alerts.Resumed: alerts.Paused, alerts.SourceUp: alerts.SourceDown, alerts.RelayResumed: alerts.RelayStalled,
}

func groupOf(a alerts.Alert) group {
	return group{cmp.Or(begins[a.Kind], a.Kind), a.Consumer, a.Handler}
}

// paired reports whether the group has two kinds that end each other.
func (g group) paired() bool { return slices.Contains(slices.Collect(maps.Values(begins)), g.kind) }

// entry is the state of a group.
type entry struct {
	alert alerts.Alert // the one that waits, of the newest kind; Count is 0 if there is none
	// quiet is until when each kind must not be sent again.
	quiet    map[alerts.Kind]time.Time
	failures int
	retryAt  time.Time // if there were failures

	// For a group with two kinds: the newest kind, since when, the kind sent last, and
	// how many in a row were sent within their quiet time.
	kind, sent alerts.Kind
	since      time.Time
	early      int
}

// debouncer holds alerts until their group is due, and counts them. It is not safe for
// concurrent use.
type debouncer struct {
	o       alerts.Options
	groups  map[group]*entry
	calls   []time.Time // within the last minute
	dropped int64
}

func newDebouncer(o alerts.Options) *debouncer {
	return &debouncer{o: o.WithDefaults(), groups: make(map[group]*entry)}
}

// add adds a to its group.
func (d *debouncer) add(a alerts.Alert) {
	key := groupOf(a)
	e := d.groups[key]
	if e == nil {
		if len(d.groups) >= maxGroups {
			d.dropped++
			return
		}
		e = &entry{quiet: make(map[alerts.Kind]time.Time)}
		d.groups[key] = e
	}
	if key.paired() && e.kind != a.Kind {
		e.kind, e.since = a.Kind, a.At
	}
	e.add(a)
}

// add makes a the alert that waits, and adds the count of the previous one.
func (e *entry) add(a alerts.Alert) {
	a.Count, a.Since = max(a.Count, 1), earliest(a.Since, a.At)
	if old := e.alert; old.Count > 0 {
		a.Count, a.Since = a.Count+old.Count, earliest(old.Since, a.Since)
		if a.Kind == old.Kind {
			a.ID = old.ID
		}
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

// corrects reports whether the newest kind is the opposite of the one sent last.
func (e *entry) corrects() bool { return e.sent != "" && e.sent != e.kind }

// dueAt is when the waiting alert may be sent.
func (e *entry) dueAt() time.Time {
	at := e.quiet[e.alert.Kind]
	if e.corrects() {
		if settled := e.since.Add(min(settleTime<<min(e.early, 8), settleMost)); settled.Before(at) {
			at = settled
		}
	}
	if e.failures > 0 && e.retryAt.After(at) {
		at = e.retryAt
	}
	return at
}

// quietUntil is when the quiet time of all kinds ends.
func (e *entry) quietUntil() (at time.Time) {
	for _, t := range e.quiet {
		if t.After(at) {
			at = t
		}
	}
	return at
}

// take returns the alerts to send now, ordered by time, and counts them as sent. It drops
// groups that are quiet. all says to hold none back.
func (d *debouncer) take(now time.Time, all bool) []alerts.Alert {
	var due []group
	for key, e := range d.groups {
		switch {
		case e.alert.Count > 0 && (all || !e.dueAt().After(now)):
			due = append(due, key)
		case e.alert.Count == 0 && !e.quietUntil().After(now):
			delete(d.groups, key)
		}
	}
	d.calls = slices.DeleteFunc(d.calls, func(t time.Time) bool { return now.Sub(t) >= time.Minute })
	if room := d.o.PerMinute - len(d.calls); len(due) > room && !all || len(due) > d.o.PerMinute {
		due = d.merge(due, now)
		slices.SortFunc(due, d.older)
		if !all {
			due = due[:min(len(due), max(room, 0))]
		}
	}
	slices.SortFunc(due, d.older)
	list := make([]alerts.Alert, len(due))
	for i, key := range due {
		e := d.groups[key]
		list[i] = e.alert
		if e.quiet[e.alert.Kind].After(now) {
			e.early++
		} else {
			e.early = 0
		}
		e.quiet[e.alert.Kind] = now.Add(d.o.Quiet)
		e.alert = alerts.Alert{}
		d.calls = append(d.calls, now)
	}
	return list
}

func (d *debouncer) older(x, y group) int {
	a, b := d.groups[x].alert, d.groups[y].alert
	return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Kind, b.Kind), cmp.Compare(x.handler, y.handler))
}

// merge sums up the groups of each kind in one without a handler.
func (d *debouncer) merge(keys []group, now time.Time) (merged []group) {
	byKind := make(map[alerts.Kind][]group)
	for _, key := range keys {
		byKind[key.kind] = append(byKind[key.kind], key)
	}
	for kind, list := range byKind {
		if len(list) == 1 {
			merged = append(merged, list[0])
			continue
		}
		sum := group{kind: kind, consumer: list[0].consumer}
		total := &entry{quiet: make(map[alerts.Kind]time.Time)}
		groups := int64(0)
		for _, key := range list {
			e := d.groups[key]
			groups += max(e.alert.Groups, 1)
			total.add(e.alert)
			e.alert = alerts.Alert{}
			e.quiet[kind] = now.Add(d.o.Quiet)
		}
		total.alert.Groups, total.alert.Handler, total.alert.Topic = groups, "", ""
		d.groups[sum] = total
		merged = append(merged, sum)
	}
	return merged
}

// outdated reports whether a, which was taken and not sent yet, is outdated: a newer alert
// says the opposite. It then adds its count to that one.
func (d *debouncer) outdated(a alerts.Alert) bool {
	key := groupOf(a)
	e := d.groups[key]
	if e == nil || !key.paired() || e.kind == a.Kind {
		return false
	}
	if e.alert.Count > 0 {
		e.alert.Count, e.alert.Since = e.alert.Count+a.Count, earliest(e.alert.Since, a.Since)
	}
	return true
}

// failed puts back an alert that could not be sent, and reports whether it will be
// retried. If a newer alert says the opposite, its count is added to that one.
func (d *debouncer) failed(a alerts.Alert, now time.Time, err error) bool {
	key := groupOf(a)
	e := d.groups[key]
	if e == nil {
		return false
	}
	e.failures++
	e.retryAt = now.Add(delay(e.failures, err))
	if d.outdated(a) {
		return true
	}
	if e.failures >= maxTries && !e.corrects() {
		e.failures = 0
		return false
	}
	if newer := e.alert; newer.Count > 0 {
		a.Count, a.At, a.Text = a.Count+newer.Count, newer.At, newer.Text
	}
	e.alert = a
	e.quiet[a.Kind] = e.retryAt
	return true
}

// passed records that a was sent.
func (d *debouncer) passed(a alerts.Alert) {
	key := groupOf(a)
	if e := d.groups[key]; e != nil {
		e.failures = 0
		if key.paired() {
			e.sent = a.Kind
		}
	}
}

// next is how long until take has something to do again: an hour if it never has.
func (d *debouncer) next(now time.Time) time.Duration {
	at := now.Add(time.Hour)
	for _, e := range d.groups {
		due := e.quietUntil()
		if e.alert.Count > 0 {
			due = e.dueAt()
			if len(d.calls) >= d.o.PerMinute && due.Before(d.calls[0].Add(time.Minute)) {
				due = d.calls[0].Add(time.Minute)
			}
		}
		at = earliest(at, due)
	}
	return max(at.Sub(now), 0)
}
