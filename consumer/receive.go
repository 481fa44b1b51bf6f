package consumer

import (
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/internal/group"
)

// receive subscribes to the topic of h and brings its deliveries to the engine
// until the consumer stops. A channel that ends before that is fatal.
func (r *run) receive(h *handler) {
	if h.source == nil {
		h.sub.set("local")
		return
	}
	if !r.c.hold.wait(r.soft) {
		return
	}
	messages, err := r.subscribe(h.source, h.Topic, r.c.demands(h))
	if err != nil && r.soft.Err() != nil {
		return // it was told to end
	}
	if err != nil {
		h.sub.set("failed")
		r.fail(fmt.Errorf("subscribe to %q: %w", h.Topic, err))
		return
	}
	h.sub.set("open")
	for r.gateOpen(h.source, h.Topic) {
		select {
		case <-r.soft.Done():
			return
		case <-r.c.hold.begun():
		case m, ok := <-messages:
			if !ok {
				r.ended(h)
				return
			}
			r.accept(h, m)
		}
	}
}

// subscribe subscribes, once the source says that it can give what is asked of it.
func (r *run) subscribe(source message.Subscriber, topic string, d Demands) (<-chan *message.Message, error) {
	if limited, ok := source.(Checker); ok {
		if err := limited.Check(r.soft, topic, d); err != nil {
			return nil, err
		}
	}
	return source.Subscribe(r.subscribed, topic)
}

// gateOpen waits while the database is not to be had, or a person has paused the
// consumer: the source is not read, and fetches nothing where it is a Pauser.
func (r *run) gateOpen(source message.Subscriber, topic string) bool {
	if p, ok := source.(Pauser); ok && (r.c.hold.held() || r.c.gate.Err() != nil) {
		p.Pause(topic)
		defer p.Resume(topic)
	}
	for r.c.hold.wait(r.soft) && r.c.gate.Wait(r.soft) {
		if !r.c.hold.held() {
			return true
		}
	}
	return false
}

func (r *run) ended(h *handler) {
	if r.soft.Err() != nil {
		return
	}
	h.sub.set("ended")
	r.alert(alerts.SubscriptionEnded, h.Handler, "the broker ended the subscription; the consumer stops")
	r.fail(fmt.Errorf("topic %q: %w", h.Topic, ErrSubscriptionEnded))
}

// accept turns m into a task of h, once there is room for it.
func (r *run) accept(h *handler, m *message.Message) {
	size := int64(len(m.Payload))
	if !r.budget.take(size) {
		m.Nack()
		return
	}
	r.c.stats.delivered.Add(1)
	t := h.resolve.task(m)
	t.Settle = func(o group.Outcome) {
		r.c.stats.live[o].Add(1)
		r.wakeAlerts(o)
		r.budget.give(size)
		if o == group.Released {
			r.giveBack(m)
			return
		}
		m.Ack()
	}
	h.engine.Add(t)
}

// giveBack returns m to the broker: after a pause while the consumer runs, since
// some brokers deliver again without one.
func (r *run) giveBack(m *message.Message) {
	if r.soft.Err() != nil {
		m.Nack()
		return
	}
	r.nacks.Go(func() {
		timer := time.NewTimer(r.c.config.NackPause)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.soft.Done():
		}
		m.Nack()
	})
}
