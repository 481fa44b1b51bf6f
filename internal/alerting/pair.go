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

// current reports whether key is still true: no newer word has taken it back.
func (b *book) current(key group) bool {
	p := b.pairs[key.pair()]
	return p == nil || p.state == key.kind
}

// supersede counts what waits of old in with what waits of the newer word: old is not
// told any more, since it would be false.
func (b *book) supersede(old, newer group) {
	e, into := b.groups[old], b.groups[newer]
	if e == nil || into == nil || e.alert.Count == 0 || into.alert.Count == 0 {
		return
	}
	into.alert.Count += e.alert.Count
	into.alert.Since = earliest(into.alert.Since, e.alert.Since)
	e.alert = alerts.Alert{}
}

// recall takes an alert back that was taken and is not sent yet, and reports whether it
// did: a newer word came meanwhile.
func (b *book) recall(a alerts.Alert) bool {
	key := group{a.Kind, a.Consumer, a.Handler}
	e := b.groups[key]
	if b.current(key) || e == nil {
		return false
	}
	e.alert = a
	b.supersede(key, key.opposite())
	return true
}

// settled is when what waits of key may go out ahead of its quiet time; ok is false
// where it may not.
func (b *book) settled(key group) (at time.Time, ok bool) {
	p := b.pairs[key.pair()]
	if p == nil || !p.stale() {
		return at, false
	}
	return p.since.Add(min(settleTime<<min(p.early, 8), settleMost)), true
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

// forget drops a group, and its pair with the last of the two.
func (b *book) forget(key group) {
	delete(b.groups, key)
	if b.groups[key.opposite()] == nil {
		delete(b.pairs, key.pair())
	}
}
