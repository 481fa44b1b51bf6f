package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/examples/router/shop"
)

// maxDeliveries is how often the broker delivers a message that is given back.
const maxDeliveries = 6

// broker is a queue in memory, as brokers are: it delivers at least once, one message at
// a time, puts what is given back at the end of the queue, and drops it after
// maxDeliveries. It is a message.Subscriber for one topic.
type broker struct {
	mu        sync.Mutex
	queue     []*delivery
	delivered int
	empty     chan struct{} // closed when nothing is left
}

type delivery struct {
	id      string
	payload []byte
	times   int
}

// newBroker returns a queue of n orders: every third is delivered twice, and every
// fiftieth makes no sense.
func newBroker(n int) (*broker, error) {
	b := &broker{empty: make(chan struct{})}
	for i := 1; i <= n; i++ {
		payload, err := json.Marshal(shop.Order{ID: fmt.Sprintf("order-%04d", i), Total: int64(i)})
		if err != nil {
			return nil, err
		}
		if i%50 == 0 {
			payload = []byte("not an order")
		}
		b.queue = append(b.queue, &delivery{id: fmt.Sprintf("message-%04d", i), payload: payload})
		if i%3 == 0 {
			b.queue = append(b.queue, &delivery{id: fmt.Sprintf("message-%04d", i), payload: payload})
		}
	}
	return b, nil
}

// Subscribe implements message.Subscriber.
func (b *broker) Subscribe(ctx context.Context, _ string) (<-chan *message.Message, error) {
	out := make(chan *message.Message)
	go func() {
		defer close(out)
		for b.deliver(ctx, out) {
		}
		<-ctx.Done()
	}()
	return out, nil
}

// deliver delivers the next message, and reports whether there may be more.
func (b *broker) deliver(ctx context.Context, out chan<- *message.Message) bool {
	b.mu.Lock()
	if len(b.queue) == 0 {
		b.mu.Unlock()
		close(b.empty)
		return false
	}
	d := b.queue[0]
	b.mu.Unlock()
	m := message.NewMessageWithContext(ctx, d.id, append([]byte(nil), d.payload...))
	select {
	case out <- m:
	case <-ctx.Done():
		return false
	}
	acked := false
	select {
	case <-m.Acked():
		acked = true
	case <-m.Nacked():
	case <-ctx.Done():
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queue = b.queue[1:]
	b.delivered++
	if d.times++; !acked && d.times < maxDeliveries {
		b.queue = append(b.queue, d)
	}
	return true
}

// Close implements message.Subscriber; a subscription ends with its context.
func (b *broker) Close() error { return nil }

// published counts what was published by topic and id. It is a message.Publisher.
type published struct {
	mu    sync.Mutex
	times map[string]map[string]int
}

// Publish implements message.Publisher.
func (p *published) Publish(topic string, messages ...*message.Message) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.times == nil {
		p.times = make(map[string]map[string]int)
	}
	if p.times[topic] == nil {
		p.times[topic] = make(map[string]int)
	}
	for _, m := range messages {
		p.times[topic][m.UUID]++
	}
	return nil
}

// Close implements message.Publisher.
func (p *published) Close() error { return nil }

// invoices returns how many invoices were announced, and how many of them more than
// once.
func (p *published) invoices() (all, twice int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range p.times[shop.Created] {
		all++
		if n > 1 {
			twice++
		}
	}
	return all, twice
}
