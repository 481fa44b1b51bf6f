package kafka

import (
	"context"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/twmb/franz-go/pkg/kgo"
)

// delivery is a record that was handed over, or will be next.
type delivery struct {
	record *kgo.Record
	at     place
	m      *message.Message
	end    context.CancelFunc // ends the message's context
	again  bool               // it was given back, and waits to be handed over
	spent  bool               // m was given back
	done   bool               // it was acknowledged: only the offset is left
}

// renew gives d a new message; ctx is the partition's.
func (d *delivery) renew(ctx context.Context) {
	ctx, d.end = context.WithCancel(ctx)
	d.m, d.spent = unmarshal(ctx, d.record, d.at), false
}

// release drops all but the offset of an acknowledged delivery, and returns the bytes.
func (d *delivery) release() int {
	n := size(d.record)
	d.end()
	d.record, d.m, d.done = &kgo.Record{Offset: d.record.Offset, LeaderEpoch: d.record.LeaderEpoch}, nil, true
	return n
}

// window is the records of a partition under way, by offset, from the lowest unsettled
// one on. It has one owner.
type window struct {
	flights []*delivery // those before first are gone
	first   int
	// position may be committed: it is after the newest record below which all are
	// settled. Its Offset is -1 while there is none.
	position kgo.EpochOffset
}

func newWindow() window { return window{position: kgo.EpochOffset{Epoch: -1, Offset: -1}} }

// open returns the unsettled deliveries, and those after them.
func (w *window) open() []*delivery { return w.flights[w.first:] }

// head is the lowest unsettled delivery; nil if there is none.
func (w *window) head() *delivery {
	if w.first == len(w.flights) {
		return nil
	}
	return w.flights[w.first]
}

func (w *window) add(d *delivery) {
	if w.first > 0 && len(w.flights) == cap(w.flights) {
		n := copy(w.flights, w.flights[w.first:])
		clear(w.flights[n:])
		w.flights, w.first = w.flights[:n], 0
	}
	w.flights = append(w.flights, d)
}

// settle moves past acknowledged deliveries, from the lowest on, and reports whether
// there were any, and the bytes that this released.
func (w *window) settle() (moved bool, freed int) {
	for d := w.head(); d != nil && (d.done || acknowledged(d.m)); d = w.head() {
		if !d.done {
			freed += d.release()
		}
		w.position = kgo.EpochOffset{Epoch: d.record.LeaderEpoch, Offset: d.record.Offset + 1}
		w.flights[w.first] = nil
		w.first++
		moved = true
	}
	return moved, freed
}

// release releases the acknowledged deliveries after the lowest unsettled one, and returns
// their bytes.
func (w *window) release() (freed int) {
	for i, d := range w.open() {
		if i > 0 && !d.done && !d.again && acknowledged(d.m) {
			freed += d.release()
		}
	}
	return freed
}

// back returns the deliveries that were given back since its last call, by offset.
func (w *window) back() (list []*delivery) {
	for _, d := range w.open() {
		if !d.done && !d.again && givenBack(d.m) {
			d.again, d.spent = true, true
			d.end()
			list = append(list, d)
		}
	}
	return list
}

func acknowledged(m *message.Message) bool { return closed(m.Acked()) }

func givenBack(m *message.Message) bool { return closed(m.Nacked()) }

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
