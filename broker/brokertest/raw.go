package brokertest

import (
	"context"
	"encoding/json"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
)

// raw is a subscription without a consumer.
type raw struct {
	s  *bundle
	ch <-chan *message.Message
}

// subscribe subscribes with source until the test ends.
func (s *bundle) subscribe(source message.Subscriber) *raw {
	s.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s.Cleanup(cancel)
	ch, err := source.Subscribe(ctx, s.topic)
	if err != nil {
		s.Fatalf("subscribe: %v", err)
	}
	return &raw{s, ch}
}

// next waits for a message.
func (r *raw) next() *message.Message {
	r.s.Helper()
	m := r.within(waitTimeout)
	if m == nil {
		r.s.Fatal("no message comes")
	}
	return m
}

// within waits for a message for at most d; nil if there is none.
func (r *raw) within(d time.Duration) *message.Message {
	r.s.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case m, ok := <-r.ch:
		if !ok {
			r.s.Fatal("the subscription ended")
		}
		return m
	case <-timer.C:
		return nil
	}
}

// number returns the number in the message.
func (r *raw) number(m *message.Message) int {
	r.s.Helper()
	var b body
	if err := json.Unmarshal(m.Payload, &b); err != nil {
		r.s.Fatalf("payload %q: %v", m.Payload, err)
	}
	return b.N
}
