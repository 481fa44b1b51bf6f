package fault

import (
	"context"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
)

// Publisher returns pub with at called before (Call) and after (RelayPublished) each
// Publish that succeeds.
func Publisher(pub message.Publisher, at Hook) message.Publisher {
	return &publisher{pub, at}
}

type publisher struct {
	message.Publisher
	at Hook
}

func (p *publisher) Publish(topic string, messages ...*message.Message) error {
	if err := p.at.reach(Call); err != nil {
		return err
	}
	if err := p.Publisher.Publish(topic, messages...); err != nil {
		return err
	}
	return p.at.reach(RelayPublished)
}

// retainer is what consumer looks for on a Source.
type retainer interface{ Retention() time.Duration }

// Subscriber returns sub with at called for each message: AfterReceive, BeforeAck and
// AfterAck. The messages that it gives are others than those of sub, with the same
// UUID, metadata, payload and context. It has a method Retention if sub has.
func Subscriber(sub message.Subscriber, at Hook) message.Subscriber {
	s := &subscriber{sub, at}
	if r, ok := sub.(retainer); ok {
		return struct {
			*subscriber
			retainer
		}{s, r}
	}
	return s
}

type subscriber struct {
	message.Subscriber
	at Hook
}

// Subscribe implements message.Subscriber. What it starts ends with ctx.
func (s *subscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	if err := s.at.reach(Call); err != nil {
		return nil, err
	}
	in, err := s.Subscriber.Subscribe(ctx, topic)
	if err != nil {
		return nil, err
	}
	out := make(chan *message.Message)
	go s.forward(ctx, in, out)
	return out, nil
}

// forward ends with in or ctx. A message that the process died with stays unanswered.
func (s *subscriber) forward(ctx context.Context, in <-chan *message.Message, out chan<- *message.Message) {
	defer close(out)
	for {
		select {
		case <-ctx.Done():
			return
		case m, ok := <-in:
			if !ok {
				return
			}
			if s.at.reach(AfterReceive) == nil {
				s.give(ctx, m, out)
			}
		}
	}
}

func (s *subscriber) give(ctx context.Context, m *message.Message, out chan<- *message.Message) {
	given := message.NewMessage(m.UUID, m.Payload)
	given.Metadata = m.Metadata
	given.SetContext(m.Context())
	select {
	case out <- given:
		go s.settle(ctx, m, given)
	case <-ctx.Done():
		if s.at.reach(BeforeAck) == nil {
			m.Nack()
		}
	}
}

// settle passes on what becomes of a message.
func (s *subscriber) settle(ctx context.Context, m, given *message.Message) {
	acked := false
	select {
	case <-given.Acked():
		acked = true
	case <-given.Nacked():
	case <-ctx.Done():
		select { // what was said just before counts
		case <-given.Acked():
			acked = true
		case <-given.Nacked():
		default:
			return
		}
	}
	switch {
	case s.at.reach(BeforeAck) != nil:
	case acked && m.Ack():
		_ = s.at.reach(AfterAck)
	case !acked:
		m.Nack()
	}
}
