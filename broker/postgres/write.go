package postgres

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// writeTime bounds a statement about what became of messages, and writeTimes how often
	// it is tried. After that they come again when their lease is over.
	writeTime  = 5 * time.Second
	writeTimes = 3
	// together is how many of them one statement is about.
	together = 1000
)

// write writes what became of messages, as many at once as there are, and extends the
// leases of those that are held, until everything is settled.
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

// more adds what else is there already.
func (b *subscription) more(ds []*delivery) []*delivery {
	for len(ds) < together {
		select {
		case d, ok := <-b.settled:
			if !ok {
				return ds
			}
			ds = append(ds, d)
		default:
			return ds
		}
	}
	return ds
}

// book writes what became of ds, and makes room.
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
	}
	b.mu.Unlock()
	b.poke()
}

// insist runs a statement until it succeeds, a few times. What it gives up comes again
// when its lease is over.
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
	return err
}

// extend says that what is held is being worked on. Where it fails the next one makes up
// for it.
func (b *subscription) extend() {
	b.mu.Lock()
	ids := slices.Collect(maps.Keys(b.held))
	b.mu.Unlock()
	if len(ids) > 0 {
		_ = b.try("extend", b.topic, b.o.Group, array(ids), b.o.Lease.Microseconds(), b.holder)
	}
}

// array is ids as PostgreSQL writes an array: no driver's types are known here. Sorted, so
// that two statements lock rows in one order.
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
