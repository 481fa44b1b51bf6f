package alerting

import (
	"time"

	"github.com/headrace/headrace/alerts"
)

const (
	// settleTime is how long a state must last before it goes out ahead of the quiet
	// time, because people were last told the opposite.
	settleTime = 5 * time.Second
	// settleMost is the same where that happened again and again. It doubles up to here,
	// so that a state that comes and goes is no storm.
	settleMost = time.Minute
)

// pair is what a book knows of two kinds that take each other back. The last that
// people are told must become true soon, however quiet the groups should be.
type pair struct {
	state alerts.Kind // the newest
	since time.Time   // it is the state
	told  alerts.Kind // passed on last, or ""
	early int         // how often in a row the state went out ahead of the quiet time
}

// opposite is the kind that takes kind back, or "".
func opposite(kind alerts.Kind) alerts.Kind {
	switch kind {
	case alerts.Paused:
		return alerts.Resumed
	case alerts.Resumed:
		return alerts.Paused
	case alerts.RelayStalled:
		return alerts.RelayResumed
	case alerts.RelayResumed:
		return alerts.RelayStalled
	}
	return ""
}

// opposite names the group that takes key back; its kind is "" if there is none.
func (key group) opposite() group {
	return group{opposite(key.kind), key.consumer, key.handler}
}

// pair names the pair that key belongs to, by the same name for both.
func (key group) pair() group {
	if other := key.opposite(); other.kind < key.kind {
		return other
	}
	return key
}

// turn notes which of two kinds is the newest.
func (b *book) turn(key group, a alerts.Alert) {
	if opposite(key.kind) == "" {
		return
	}
	p := b.pairs[key.pair()]
	if p == nil {
		p = new(pair)
		b.pairs[key.pair()] = p
	}
	if p.state != key.kind {
		p.state, p.since = key.kind, a.At
	}
}

// settled is when what waits of key may go out ahead of its quiet time; ok is false
// where it may not. A hook that fails is left in peace until it may be tried again.
func (b *book) settled(key group) (at time.Time, ok bool) {
	p := b.pairs[key.pair()]
	if p == nil || !p.stale() {
		return at, false
	}
	e, other := b.groups[key], b.groups[key.opposite()]
	if key.kind != p.state {
		e, other = other, e
	}
	if e == nil || e.alert.Count == 0 {
		return at, false
	}
	at = p.since.Add(min(settleTime<<min(p.early, 8), settleMost))
	for _, failing := range []*entry{e, other} {
		if failing != nil && failing.failures > 0 && failing.due.After(at) {
			at = failing.due
		}
	}
	return at, true
}

// stale reports whether people were last told what is not true any more.
func (p *pair) stale() bool { return p.told != "" && p.told != p.state }

// owed reports whether key takes back what people were last told. It is tried until it
// is passed on, and not just a few times.
func (b *book) owed(key group) bool {
	p := b.pairs[key.pair()]
	return p != nil && p.stale() && p.state == key.kind
}

// goes notes that key is taken, with its quiet time still to be kept or not.
func (b *book) goes(key group, early bool) {
	p := b.pairs[key.pair()]
	switch {
	case p == nil || p.state != key.kind:
	case early:
		p.early++
	default:
		p.early = 0
	}
}

// tell notes that a was passed on. What its opposite has to say of earlier, and could
// not, would be false now: tell returns how many of them it let go.
func (b *book) tell(key group, a alerts.Alert) (dropped int64) {
	p := b.pairs[key.pair()]
	if p == nil {
		return 0
	}
	p.told = key.kind
	if e := b.groups[key.opposite()]; e != nil && e.failures > 0 && e.alert.Count > 0 && e.alert.At.Before(a.At) {
		dropped = e.alert.Count
		e.alert, e.failures = alerts.Alert{}, 0
	}
	return dropped
}

// forget drops a group, and its pair with the last of the two.
func (b *book) forget(key group) {
	delete(b.groups, key)
	if b.groups[key.opposite()] == nil {
		delete(b.pairs, key.pair())
	}
}
