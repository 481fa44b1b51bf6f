package postgres

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// writeTime bounds a statement that writes settlements, writeTimes how often it is
	// tried. After that the messages come again when their lease is over.
	writeTime  = 5 * time.Second
	writeTimes = 3
	// together is how many settlements one statement writes.
	together = 1000
	// linger is how long a settlement waits for others while less than one message in few
	// of those that are held is settled, or the caller has not taken all that were fetched.
	linger = 50 * time.Millisecond
	few    = 8
)

// write writes settlements, as many at once as there are, and extends the leases of held
// messages, until everything is settled.
func (b *subscription) write() {
	beat := time.NewTicker(b.o.Lease / 3)
	defer beat.Stop()
	for {
		select {
		case d, ok := <-b.settled:
			if !ok {
				return
			}
			b.book(b.more([]*delivery{d}))
		case <-beat.C:
			b.extend()
		}
	}
}

// more adds the settlements that are waiting, and those that come within linger while the caller needs no
// room: few of the held messages are settled, or more are fetched than it has taken. So a caller that handles
// one after the other has many messages written by one statement.
func (b *subscription) more(ds []*delivery) []*delivery {
	timer := time.NewTimer(linger)
	defer timer.Stop()
	for len(ds) < together {
		var soon <-chan time.Time
		if len(ds) < b.holding()/few || b.ahead.Load() > 0 {
			soon = timer.C
		}
		d, ok := b.another(soon)
		if !ok {
			return ds
		}
		ds = append(ds, d)
	}
	return ds
}

// another returns the next settlement, if there is one, or one comes before soon.
func (b *subscription) another(soon <-chan time.Time) (d *delivery, ok bool) {
	select {
	case d, ok = <-b.settled:
		return d, ok
	default:
	}
	if soon != nil {
		select {
		case d, ok = <-b.settled:
		case <-soon:
		}
	}
	return d, ok
}

// book writes the settlements of ds, and makes room.
func (b *subscription) book(ds []*delivery) {
	var acked []int64
	delayed := map[time.Duration][]int64{}
	for _, d := range ds {
		if d.acked {
			acked = append(acked, d.id)
		} else {
			delayed[d.delay] = append(delayed[d.delay], d.id)
		}
	}
	if len(acked) > 0 {
		b.insist("ack", b.topic, b.o.Group, array(acked))
	}
	for delay, ids := range delayed {
		b.insist("nack", b.topic, b.o.Group, array(ids), delay.Microseconds(), b.holder)
	}
	b.mu.Lock()
	for _, d := range ds {
		delete(b.held, d.id)
		b.bytes.Free(d.size)
	}
	b.mu.Unlock()
	b.poke()
}

// insist tries a statement a few times. If it fails, the messages come again when their
// lease is over.
func (b *subscription) insist(name string, args ...any) {
	for n := range writeTimes {
		if n > 0 {
			b.rest(200 * time.Millisecond)
		}
		if b.try(name, args...) == nil || b.writing.Err() != nil {
			return
		}
	}
}

func (b *subscription) try(name string, args ...any) error {
	_, err := b.ask.exec(b.writing, writeTime, b.all.get(name), args...)
	if b.unsaved.Store(nil); err != nil {
		b.unsaved.Store(&err)
	}
	return err
}

// extend extends the leases of held messages. After a failure the next call makes up for
// it.
func (b *subscription) extend() {
	b.mu.Lock()
	ids := slices.Collect(maps.Keys(b.held))
	b.mu.Unlock()
	if len(ids) > 0 {
		_ = b.try("extend", b.topic, b.o.Group, array(ids), b.o.Lease.Microseconds(), b.holder)
	}
}

// array formats ids as a PostgreSQL array, independent of drivers' types. They are
// sorted, so that concurrent statements lock rows in one order.
func array(ids []int64) string {
	slices.Sort(ids)
	var s strings.Builder
	s.WriteByte('{')
	for i, id := range ids {
		if i > 0 {
			s.WriteByte(',')
		}
		s.WriteString(strconv.FormatInt(id, 10))
	}
	s.WriteByte('}')
	return s.String()
}
