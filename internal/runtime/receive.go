package runtime

import (
	"context"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/internal/runner"
	"github.com/headrace/headrace/internal/sleep"
	"github.com/headrace/headrace/internal/subscription"
	"github.com/headrace/headrace/internal/task"
)

// receive subscribes to the topic of in and passes its deliveries to the engine until the
// consumer stops. If the broker refuses, or closes the channel before that, the consumer
// stops with an error.
func (r *Run) receive(h *Handler, in inlet) {
	if !r.local.wait(r.Stopping) || !r.rt.Pause.Wait(r.Stopping) {
		return
	}
	messages, err := in.sub.Open(r.Stopping, func() (<-chan *message.Message, error) { return r.subscribe(in) })
	if err != nil && r.Stopping.Err() != nil {
		return // the stop ended the Subscribe
	}
	if err != nil {
		in.sub.Set("failed")
		r.fail(fmt.Errorf("subscribe to %q: %w", in.topic, err))
		return
	}
	r.Watch(r.Stopping, in.sub, in.source)
	ended := false
	runner.Alive(func() {
		ended = in.sub.Forward(r.Stopping, in.source, messages, func(m *message.Message) bool {
			r.accept(h, in, m)
			return true
		})
	}, func(err error) { r.fail(fmt.Errorf("topic %q: %w", in.topic, err)) })
	if ended && r.Stopping.Err() == nil {
		in.sub.Set("ended")
		r.Alert(alerts.SubscriptionEnded, h.Handler, "the broker ended the subscription; the consumer stops")
		r.fail(fmt.Errorf("topic %q: %w", in.topic, ErrSubscriptionEnded))
	}
}

// subscribe subscribes, after the source has confirmed that it meets the demands.
func (r *Run) subscribe(in inlet) (<-chan *message.Message, error) {
	if in.check != nil {
		if err := in.check(r.Stopping); err != nil {
			return nil, err
		}
	}
	return in.source.Subscribe(r.Subscribed, in.topic)
}

// Watch asks source, until ctx ends, whether its broker serves sub. It does not block; a
// receiver calls it.
func (r *Run) Watch(ctx context.Context, sub *subscription.Subscription, source message.Subscriber) {
	r.Receivers.Go(func() { sub.Watch(ctx, source) })
}

// accept turns m into a task of h when there is room for it.
func (r *Run) accept(h *Handler, in inlet, m *message.Message) {
	size := int64(len(m.Payload))
	if !r.Budget.Take(size) {
		m.Nack()
		return
	}
	t := in.task(m)
	if t == nil { // another consumer's
		r.Budget.Give(size)
		m.Ack()
		return
	}
	r.Process(t, h, func(o task.Outcome) {
		r.Budget.Give(size)
		if o == task.Released {
			r.giveBack(m)
			return
		}
		m.Ack()
	})
}

// Process passes t to h, and calls settle with its outcome.
func (r *Run) Process(t *task.Task, h *Handler, settle func(task.Outcome)) {
	r.rt.Counters.Delivered.Add(1)
	t.Settle = func(o task.Outcome) {
		r.rt.Counters.Live[o].Add(1)
		r.alerts.Outcome(o)
		settle(o)
	}
	h.dispatch.Add(t)
}

// giveBack returns m to the broker, while the consumer runs after a pause, since some
// brokers redeliver at once.
func (r *Run) giveBack(m *message.Message) {
	if r.Stopping.Err() != nil {
		m.Nack()
		return
	}
	r.nacks.Go(func() {
		sleep.For(r.Stopping, r.rt.NackPause)
		m.Nack()
	})
}
