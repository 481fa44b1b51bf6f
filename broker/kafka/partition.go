package kafka

import (
	"context"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// A partition is full when so many records, or so many bytes of them, wait to be
	// handed over.
	fullRecords = 500
	fullBytes   = 4 << 20
	// lookAgain is how often to check for deliveries after the lowest that were given
	// back or acknowledged, and lookSoon while the budget is full.
	lookAgain = time.Second
	lookSoon  = 10 * time.Millisecond
)

// partition is a partition while this member has it. One goroutine hands its records over
// and waits for their settlement.
type partition struct {
	number int32
	topic  string
	out    chan<- *message.Message
	limits limits
	budget *budget
	// changed gets a value when there may be room for more records.
	changed chan<- struct{}
	// pauseFetch stops the client from fetching the partition, or lets it continue.
	pauseFetch func(p *partition, stop bool)

	// life is the context of its messages. Draining ends before it: then no more is
	// handed over. Dead ends after it: then the partition no longer waits for handed over
	// records.
	life                     context.Context
	draining, dead           context.Context
	drain, giveBack, abandon context.CancelFunc
	done                     chan struct{}
	wake                     chan struct{}

	mu          sync.Mutex
	at          place
	waiting     []*kgo.Record // not handed over yet
	bytes       int           // of them
	charged     int           // bytes of the budget, of these and of those under way
	over        bool          // it takes no more records
	stuck       bool          // the window is full
	fetchPaused bool          // the client does not fetch it
	position    kgo.EpochOffset
	committed   int64
	expected    int64 // the next offset to be fetched; negative if unknown

	// The fields below belong to the goroutine.
	window window
	again  []*delivery // given back, by offset
	next   *delivery   // taken from waiting
	pause  <-chan time.Time
}

// limits are the options of a partition.
type limits struct {
	window    int
	nackPause time.Duration
}

func newPartition(ctx context.Context, topic string, number int32, out chan<- *message.Message, l limits) *partition {
	p := &partition{
		number: number, topic: topic, out: out, limits: l,
		done: make(chan struct{}), wake: make(chan struct{}, 1),
		window: newWindow(), position: newWindow().position, committed: -1, expected: -1,
	}
	ctx = context.WithoutCancel(ctx)
	p.life, p.giveBack = context.WithCancel(ctx)
	p.draining, p.drain = context.WithCancel(ctx)
	p.dead, p.abandon = context.WithCancel(ctx)
	return p
}

// add adds records of the incarnation id.
func (p *partition) add(id [16]byte, records []*kgo.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	p.at = placeOf(p.topic, id, p.number)
	p.waiting = append(p.waiting, records...)
	n := 0
	for _, r := range records {
		n += size(r)
	}
	p.bytes += n
	p.charged += n
	p.budget.add(n)
	p.look()
	signal(p.wake)
}

// freed returns n bytes to the budget; negative means all, and that no more come.
func (p *partition) freed(n int) {
	p.mu.Lock()
	if n < 0 {
		n, p.over = p.charged, true
	}
	p.charged -= n
	p.mu.Unlock()
	p.budget.free(n)
}

// size is the approximate size of r.
func size(r *kgo.Record) int {
	n := len(r.Value) + len(r.Key)
	for i := range r.Headers {
		n += len(r.Headers[i].Key) + len(r.Headers[i].Value) + 40
	}
	return n
}

// full reports whether the client must not poll for more yet. A partition whose window is
// full is not full: its fetching pauses, so that the others continue.
func (p *partition) full() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.stuck && p.much()
}

func (p *partition) much() bool { return len(p.waiting) >= fullRecords || p.bytes >= fullBytes }

// look pauses the fetching if the partition's window is full and many records wait, and
// lets it continue when fewer do. p.mu is held.
func (p *partition) look() {
	switch {
	case !p.fetchPaused && p.stuck && p.much():
		p.fetchPaused = true
		p.pauseFetch(p, true)
	case p.fetchPaused && len(p.waiting) < fullRecords/2 && p.bytes < fullBytes/2:
		p.fetchPaused = false
		p.pauseFetch(p, false)
	}
}

// run hands records over until the partition is drained or abandoned.
func (p *partition) run() {
	defer close(p.done)
	defer p.freed(-1)
	defer p.abandon()
	defer p.drain()
	defer p.giveBack()
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		var acked, nacked <-chan struct{}
		if d := p.window.head(); d != nil && !d.again {
			acked, nacked = d.m.Acked(), d.m.Nacked()
		}
		var out chan<- *message.Message
		var m *message.Message
		d := p.choose()
		if d != nil {
			out, m = p.out, d.m
		}
		var soon <-chan time.Time
		if p.window.head() != nil && p.budget.full() {
			soon = time.After(lookSoon)
		}
		select {
		case out <- m:
			p.sent(d)
		case <-acked:
			p.settle(false)
		case <-nacked:
			p.settle(true)
		case <-tick.C:
			p.settle(true)
		case <-soon:
			p.settle(true)
		case <-p.pause:
			p.pause = nil
		case <-p.wake:
		case <-p.draining.Done():
			p.finish()
			return
		}
	}
}

// choose returns the next delivery to hand over: those given back before new ones. nil if
// there is none, or none is allowed.
func (p *partition) choose() *delivery {
	switch {
	case p.pause != nil:
		return nil
	case len(p.again) > 0:
		d := p.again[0]
		if d.spent {
			d.renew(p.life)
		}
		return d
	case p.next == nil:
		p.next = p.take()
	}
	return p.next
}

// take takes the next waiting record, if the window has room.
func (p *partition) take() *delivery {
	p.mu.Lock()
	defer p.mu.Unlock()
	full := !p.stuck && p.much()
	defer func() {
		p.look()
		if full && (p.stuck || !p.much()) {
			signal(p.changed)
		}
	}()
	p.stuck = len(p.window.open()) >= p.limits.window
	if p.stuck || len(p.waiting) == 0 {
		return nil
	}
	d := &delivery{record: alone(p.waiting[0]), at: p.at}
	p.waiting[0] = nil
	p.waiting = p.waiting[1:]
	p.bytes -= size(d.record)
	d.renew(p.life)
	return d
}

func (p *partition) sent(d *delivery) {
	if d.again {
		d.again = false
		p.again = p.again[1:]
		return
	}
	p.next = nil
	p.window.add(d)
}

// settle records acknowledgements and, if back is set, given back deliveries.
func (p *partition) settle(back bool) {
	moved, freed := p.window.settle()
	if back {
		freed += p.window.release()
	}
	if freed > 0 {
		p.freed(freed)
	}
	if moved {
		p.mu.Lock()
		p.position = p.window.position
		p.mu.Unlock()
	}
	if !back {
		return
	}
	list := p.window.back()
	if len(list) == 0 {
		return
	}
	p.again = merge(p.again, list)
	if p.pause == nil {
		p.pause = time.After(p.limits.nackPause)
	}
}

// merge merges two lists that are ordered by offset.
func merge(a, b []*delivery) []*delivery {
	all := make([]*delivery, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0].record.Offset < b[0].record.Offset {
			all, a = append(all, a[0]), a[1:]
		} else {
			all, b = append(all, b[0]), b[1:]
		}
	}
	return append(append(all, a...), b...)
}

// finish waits until all handed over records are settled, or the partition is dead.
func (p *partition) finish() {
	if p.next != nil {
		p.next.end()
	}
	for _, d := range p.again {
		d.end()
	}
	for _, d := range p.window.open() {
		if d.again || d.done {
			continue
		}
		select {
		case <-d.m.Acked():
		case <-d.m.Nacked():
		case <-p.dead.Done():
			p.settle(false)
			return
		}
	}
	p.settle(false)
}

// uncommitted returns the position and its incarnation, and whether the group does not
// know it yet.
func (p *partition) uncommitted() (position kgo.EpochOffset, incarnation string, is bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.position, p.at.incarnation, p.position.Offset > p.committed
}

// commit records the committed offset.
func (p *partition) commit(offset int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.committed = max(p.committed, offset)
}

// signal wakes the receiver of c, which has room for one value.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
