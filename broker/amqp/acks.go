package amqp

import "sync"

// acks tells the broker what was settled. What comes while one is sent goes together:
// those that leave no gap below them in one frame. It is safe for concurrent use.
type acks struct {
	ch      settler
	settled chan verdict
	done    chan struct{} // closed when the goroutine has ended

	mu     sync.RWMutex // guards closed against settle
	closed bool
}

// settler is what of a channel is needed.
type settler interface {
	Ack(tag uint64, multiple bool) error
	Nack(tag uint64, multiple, requeue bool) error
}

// verdict is what became of a delivery.
type verdict struct {
	tag uint64
	ack bool
}

func newAcks(ch settler, prefetch int) *acks {
	a := &acks{ch: ch, settled: make(chan verdict, prefetch), done: make(chan struct{})}
	go a.run()
	return a
}

// settle tells the broker about a delivery. After close it does nothing: the channel has
// ended, and the message comes again.
func (a *acks) settle(tag uint64, ack bool) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if !a.closed {
		a.settled <- verdict{tag, ack}
	}
}

// close waits until everything that was settled is told to the broker.
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

// note keeps an ack for later, and sends a nack. An error says that the channel is
// closed, and the broker requeues what it was not told about.
func note(ch settler, l *ledger, v verdict) {
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

// ledger knows which deliveries of a channel are settled. Their tags count from 1 without
// a gap.
type ledger struct {
	low     uint64          // all below are settled, and the broker knows
	settled map[uint64]bool // those from low on; true for an ack that is not sent
	unsent  []uint64        // acks
}

// advance moves low over what is settled, and returns the highest tag below it whose ack
// is not sent; 0 if there is none. An ack of all up to that one settles nothing else.
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
