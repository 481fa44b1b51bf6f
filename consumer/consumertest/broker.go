package consumertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"
)

// broker keeps a message until it is acknowledged. It delivers the message again after a
// nack or a crash of its process. Subscriptions of a topic share its deliveries.
type broker struct {
	story *story
	pulse *pulse

	mu      sync.Mutex
	changed chan struct{} // closed and replaced when there may be something to deliver
	queue   []*delivery
	held    map[*delivery]*process
	waiting map[waiter]int // subscriptions that wait for a delivery
	sent    int
}

// waiter is a place where a subscription waits for deliveries.
type waiter struct {
	slot  int
	topic string
}

// delivery is a message on its way to one subscription.
type delivery struct {
	n int // the number in the story
	m Message
	// slot is the process that must get it; negative is any process.
	slot int
	// together, if not nil, holds the delivery back until all slots wait for it.
	together *barrier
}

// barrier is open once a subscription of each slot has waited at the same time.
type barrier struct {
	slots int
	open  bool
}

func newBroker(s *story, p *pulse) *broker {
	return &broker{story: s, pulse: p, changed: make(chan struct{}), held: make(map[*delivery]*process), waiting: make(map[waiter]int)}
}

// wake is called with mu held.
func (b *broker) wake() {
	close(b.changed)
	b.changed = make(chan struct{})
	b.pulse.beat()
}

// send queues m for any process.
func (b *broker) send(m Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.push(&delivery{m: m, slot: -1})
	b.wake()
}

// sendTogether queues m once for each of n processes. It is delivered when all of them
// wait for it.
func (b *broker) sendTogether(m Message, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	together := &barrier{slots: n}
	for slot := range n {
		b.push(&delivery{m: m, slot: slot, together: together})
	}
	b.wake()
}

func (b *broker) push(d *delivery) {
	b.sent++
	d.n = b.sent
	b.queue = append(b.queue, d)
}

// outstanding lists the deliveries that are not acknowledged yet.
func (b *broker) outstanding() (list []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, d := range b.queue {
		list = append(list, fmt.Sprintf("delivery %d is not taken: %s", d.n, d.m))
	}
	for d, p := range b.held {
		list = append(list, fmt.Sprintf("delivery %d is not acknowledged by process %d: %s", d.n, p.n, d.m))
	}
	slices.Sort(list)
	return list
}

// take waits for a delivery of topic to p, until ctx ends.
func (b *broker) take(ctx context.Context, p *process, topic string) *delivery {
	at := waiter{p.slot, topic}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting[at]++
	defer func() { b.waiting[at]-- }()
	b.wake() // others may wait for this one
	for ctx.Err() == nil {
		for i, d := range b.queue {
			if d.m.Topic == topic && b.fits(d, p) {
				b.queue = slices.Delete(b.queue, i, i+1)
				b.held[d] = p
				return d
			}
		}
		changed := b.changed
		b.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		b.mu.Lock()
	}
	return nil
}

// fits reports whether p may have d now. A delivery for several slots is free once all of
// them wait, and stays free.
func (b *broker) fits(d *delivery, p *process) bool {
	if d.slot >= 0 && d.slot != p.slot {
		return false
	}
	if d.together == nil || d.together.open {
		return true
	}
	for slot := range d.together.slots {
		if b.waiting[waiter{slot, d.m.Topic}] == 0 {
			return false
		}
	}
	d.together.open = true
	b.wake()
	return true
}

// acknowledged and giveBack end what take began.
func (b *broker) acknowledged(d *delivery) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p, ok := b.held[d]; ok {
		b.story.add("process %d acknowledged delivery %d", p.n, d.n)
		delete(b.held, d)
	}
	b.wake()
}

func (b *broker) giveBack(d *delivery) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.held[d]; ok {
		delete(b.held, d)
		d.slot, d.together = -1, nil
		b.queue = append([]*delivery{d}, b.queue...)
	}
	b.wake()
}

// lose puts the deliveries of p back, in the order in which they were sent.
func (b *broker) lose(p *process) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var lost []*delivery
	for d, holder := range b.held {
		if holder == p {
			lost = append(lost, d)
			delete(b.held, d)
			d.slot, d.together = -1, nil
		}
	}
	slices.SortFunc(lost, func(a, b *delivery) int { return a.n - b.n })
	for _, d := range lost {
		b.story.add("the broker delivers %d again", d.n)
	}
	b.queue = append(lost, b.queue...)
	b.wake()
}

// source is the broker as one process sees it.
type source struct {
	b *broker
	p *process
}

var errClosedSource = errors.New("consumertest: the process has ended")

// Subscribe implements message.Subscriber. Its goroutines end with ctx.
func (s source) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	if s.p.gone.Err() != nil {
		return nil, errClosedSource
	}
	if err := s.p.subscribe(topic); err != nil {
		return nil, err
	}
	out := make(chan *message.Message)
	s.p.goroutines.Go(func() {
		defer close(out)
		for d := s.b.take(ctx, s.p, topic); d != nil; d = s.b.take(ctx, s.p, topic) {
			m := d.m.watermill()
			select {
			case out <- m:
				s.b.story.add("delivery %d to process %d: %s", d.n, s.p.n, d.m)
				s.p.goroutines.Go(func() { s.settle(d, m) })
			case <-ctx.Done():
				s.b.giveBack(d)
			}
		}
	})
	return out, nil
}

// subscribe notes that p takes the messages of topic.
func (p *process) subscribe(topic string) error {
	p.k.mu.Lock()
	defer p.k.mu.Unlock()
	if slices.Contains(p.topics, topic) {
		return fmt.Errorf("consumertest: topic %q has two subscriptions in one process, and each would get only some of its messages: "+
			"give one consumer the topic from Process.Source, and test the other with a Kit of its own", topic)
	}
	p.topics = append(p.topics, topic)
	return nil
}

// settle waits for the ack or nack of m, until the process is gone.
func (s source) settle(d *delivery, m *message.Message) {
	select {
	case <-m.Acked():
		select { // otherwise the test could end before AfterAck
		case <-s.p.acks:
		case <-s.p.gone.Done():
		}
	case <-m.Nacked():
	case <-s.p.gone.Done():
	}
	select { // an answer counts, however late
	case <-m.Acked():
		s.b.acknowledged(d)
	case <-m.Nacked():
		s.b.giveBack(d)
	default: // lose takes it back
	}
}

// Close implements message.Subscriber.
func (source) Close() error { return nil }
