package amqp

import "sync"

// acks sends settlements to the broker. Those that arrive while one is sent go together;
// acks without a gap below them go in one frame. It is safe for concurrent use.
type acks struct {
	ch      settler
	settled chan settlement
	done    chan struct{} // closed when the goroutine has ended

	mu     sync.RWMutex // guards closed against settle
	closed bool
}

// settler is the part of a channel that acks needs.
type settler interface {
	Ack(tag uint64, multiple bool) error
	Nack(tag uint64, multiple, requeue bool) error
}

// settlement is how a delivery is settled.
type settlement struct {
	tag uint64
	ack bool
}

func newAcks(ch settler, prefetch int) *acks {
	a := &acks{ch: ch, settled: make(chan settlement, prefetch), done: make(chan struct{})}
	go a.run()
	return a
}

// settle settles a delivery at the broker. After close it does nothing: the channel has
// ended, and the message comes again.
func (a *acks) settle(tag uint64, ack bool) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if !a.closed {
		a.settled <- settlement{tag, ack}
	}
}

// close waits until all settlements are sent to the broker.
func (a *acks) close() {
	a.mu.Lock()
	closed := a.closed
	a.closed = true
	a.mu.Unlock()
	if !closed {
		close(a.settled)
	}
	<-a.done
}

// run sends until close.
func (a *acks) run() {
	defer close(a.done)
	l := ledger{low: 1, settled: make(map[uint64]bool)}
	for first := range a.settled {
		note(a.ch, &l, first)
		for more := true; more; {
			select {
			case v, ok := <-a.settled:
				if ok {
					note(a.ch, &l, v)
				}
				more = ok
			default:
				more = false
			}
		}
		send(a.ch, &l)
	}
}

// note stores an ack for later, and sends a nack. An error means that the channel is
// closed; the broker then requeues what it was not told about.
func note(ch settler, l *ledger, v settlement) {
	if !v.ack {
		_ = ch.Nack(v.tag, false, true) // see above
	}
	l.settled[v.tag] = v.ack
	if v.ack {
		l.unsent = append(l.unsent, v.tag)
	}
}

func send(ch settler, l *ledger) {
	if up := l.advance(); up > 0 {
		_ = ch.Ack(up, true) // as in note
	}
	for _, tag := range l.unsent {
		if tag >= l.low {
			_ = ch.Ack(tag, false) // as in note
			l.settled[tag] = false
		}
	}
	l.unsent = l.unsent[:0]
}

// ledger records which deliveries of a channel are settled. Their tags count from 1
// without a gap.
type ledger struct {
	low     uint64          // all below are settled, also at the broker
	settled map[uint64]bool // those from low on; true for an ack that was not sent
	unsent  []uint64        // acks
}

// advance moves low past settled deliveries, and returns the highest tag below it whose
// ack was not sent; 0 if there is none. An ack of all deliveries up to that tag settles
// no others.
func (l *ledger) advance() (up uint64) {
	for {
		unsent, settled := l.settled[l.low]
		if !settled {
			return up
		}
		if unsent {
			up = l.low
		}
		delete(l.settled, l.low)
		l.low++
	}
}
