package story

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/examples/orders/billing"
)

// named gives webhooks without an id their place in the input as one: behind a broker
// their place is unknown.
type named struct{ stream }

func (n named) next(ctx context.Context) (webhook, error) {
	w, err := n.stream.next(ctx)
	w.ID = cmp.Or(w.ID, w.At.String())
	return w, err
}

// most is how many webhooks go to the broker together.
const most = 256

// send takes webhooks from the source to the broker, and acknowledges what the broker
// has.
func (r *over) send(ctx context.Context) error {
	gateway, err := r.conn.Gateway()
	if err != nil {
		return err
	}
	defer func() { _ = gateway.Close() }() // everything that was sent is confirmed
	messages, err := r.source.Subscribe(ctx, "")
	if err != nil {
		return err
	}
	for {
		batch := gather(ctx, messages, most)
		if len(batch) == 0 {
			<-ctx.Done()
			return nil
		}
		list := make([]Sent, len(batch))
		for i, m := range batch {
			list[i] = sent(m)
		}
		if err := gateway.Send(ctx, r.topics.Orders, list); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			r.log.Warn("the broker does not take webhooks; trying again", "error", err)
			giveBack(ctx, batch)
			continue
		}
		for _, m := range batch {
			m.Ack()
		}
	}
}

// giveBack returns webhooks to the source after a pause.
func giveBack(ctx context.Context, batch []*message.Message) {
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
	}
	for _, m := range batch {
		m.Nack()
	}
}

// gather waits for a message and takes what else is there; none when ctx or the channel
// has ended.
func gather(ctx context.Context, messages <-chan *message.Message, most int) (batch []*message.Message) {
	select {
	case <-ctx.Done():
		return nil
	case m, ok := <-messages:
		if !ok {
			return nil
		}
		batch = append(batch, m)
	}
	idle := time.NewTimer(time.Millisecond)
	defer idle.Stop()
	for len(batch) < most {
		select {
		case m, ok := <-messages:
			if !ok {
				return batch
			}
			batch = append(batch, m)
		case <-idle.C:
			return batch
		}
	}
	return batch
}

// sent is a webhook as it goes to the broker. A header without a value says nothing that
// its absence does not, and some brokers refuse it.
func sent(m *message.Message) Sent {
	s := Sent{Key: m.Metadata[billing.OrderKeyHeader], Headers: map[string]string{billing.IDHeader: m.UUID}, Payload: m.Payload}
	for name, value := range m.Metadata {
		if value != "" {
			s.Headers[name] = value
		}
	}
	return s
}

// listen writes down which confirmations have come.
func (r *over) listen(ctx context.Context) error {
	source, err := r.conn.Source(clerkGroup)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }() // what was acknowledged is in the journal
	messages, err := source.Subscribe(ctx, r.topics.Confirmations)
	if err != nil {
		return err
	}
	for {
		batch := gather(ctx, messages, most)
		if len(batch) == 0 {
			if ctx.Err() == nil {
				return errors.New("the broker ended the subscription")
			}
			return nil
		}
		list := make([]published, len(batch))
		for i, m := range batch {
			list[i] = published{confirmations, m.UUID}
		}
		if err := r.journal.publish(list); err != nil {
			r.log.Warn("the journal cannot be written; trying again", "error", err)
			giveBack(ctx, batch)
			continue
		}
		for _, m := range batch {
			m.Ack()
		}
	}
}
