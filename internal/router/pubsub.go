package router

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/internal/runtime"
	"github.com/headrace/headrace/internal/subscription"
	"github.com/headrace/headrace/internal/task"
)

// subscriber is between a handler's Subscriber and the Router.
type subscriber struct {
	a     *Attachment
	inner message.Subscriber
}

var errTwiceAttached = fmt.Errorf("%w: consumer.Attach was called twice with this Router: one Attach is for all of its handlers", headrace.ErrOrder)

// decorateSubscriber is the Router's SubscriberDecorator.
func (a *Attachment) decorateSubscriber(inner message.Subscriber) (message.Subscriber, error) {
	if _, second := inner.(*subscriber); second {
		a.rt.Fail(errTwiceAttached)
		return nil, errTwiceAttached
	}
	return &subscriber{a: a, inner: inner}, nil
}

// routed is one subscription of the Router.
type routed struct {
	*subscription.Subscription
	a      *Attachment
	r      *runtime.Run
	topic  string
	name   string          // of the handler; "" before the first message
	router context.Context // ends when the Router stops the subscription
	cancel context.CancelFunc
	source message.Subscriber
	out    chan *message.Message
	taken  sync.WaitGroup // messages that the Router has
	left   func()         // the Router gets no more; idempotent
}

// Subscribe implements message.Subscriber. The subscription below does not end with ctx,
// which the Router ends, but when everything taken from it has been settled.
func (s *subscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	r, err := s.a.begin()
	if err != nil {
		return nil, err
	}
	sub := &routed{
		Subscription: s.a.rt.Subscriptions.Add(topic, ""), a: s.a, r: r, topic: topic, router: ctx,
		source: s.inner, out: make(chan *message.Message), left: sync.OnceFunc(func() { s.a.left(r) }),
	}
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(r.Subscribed, cancel)
	sub.cancel = func() { stop(); cancel() }
	in, err := s.inner.Subscribe(own, topic)
	if err != nil && !errors.Is(err, subscription.ErrUnavailable) {
		sub.fail(err)
		sub.cancel()
		r.Receivers.Done()
		sub.left()
		return nil, err
	}
	// serve may wait for room or the database until the run ends.
	context.AfterFunc(ctx, sub.left)
	go sub.serve(own, in, err)
	return sub.out, nil
}

// Close implements message.Subscriber: the Router is closing. It blocks until everything
// taken has been settled, and then closes the subscriber below.
func (s *subscriber) Close() error {
	if r := s.a.running(); r != nil {
		r.Stop()
		<-s.a.ended
	}
	return s.inner.Close()
}

// serve passes deliveries of in to the Router until the Router stops, and closes the
// Router's channel when all of them are settled. It ends with the channel below, which its
// Subscriber closes. away is why there is none yet: the Router is told nothing of a broker
// that is away, since it would end.
func (s *routed) serve(own context.Context, in <-chan *message.Message, away error) {
	in = s.forward(own, in, away)
	s.r.Receivers.Done()
	s.left()
	s.taken.Wait()
	s.cancel()
	close(s.out)
	if in == nil {
		return
	}
	for m := range in {
		m.Nack()
	}
}

// forward passes deliveries to the Router until the Router or the run stops, and returns
// the channel below; nil if there is none.
func (s *routed) forward(own context.Context, in <-chan *message.Message, away error) <-chan *message.Message {
	ctx, cancel := context.WithCancel(s.router)
	defer cancel()
	defer context.AfterFunc(s.r.Stopping, cancel)()
	in, err := s.Open(ctx, func() (<-chan *message.Message, error) {
		if in != nil {
			return in, nil
		}
		if err := away; err != nil {
			away = nil
			return nil, err
		}
		return s.source.Subscribe(own, s.topic)
	})
	if err != nil {
		if ctx.Err() != nil {
			s.Set("stopped")
			return nil
		}
		s.fail(err)
		s.alert("the broker refuses the subscription; the Router goes on without it: restart the process")
		return nil
	}
	s.r.Watch(ctx, s.Subscription, s.source)
	ended := s.Forward(ctx, s.source, in, s.take)
	switch {
	case s.r.Stopping.Err() != nil:
	case s.router.Err() != nil:
		s.Set("stopped")
	case ended: // a Router continues without it, silently
		s.Set("ended")
		s.a.rt.Fail(fmt.Errorf("topic %q: %w", s.topic, runtime.ErrSubscriptionEnded))
		s.alert("the broker ended the subscription; the Router goes on without it: restart the process")
	}
	return in
}

// fail records that the broker refuses the subscription.
func (s *routed) fail(err error) {
	s.Set("failed")
	s.a.rt.Fail(fmt.Errorf("subscribe to %q: %w", s.topic, err))
}

func (s *routed) alert(text string) {
	s.r.Alert(alerts.SubscriptionEnded, &task.Handler{Name: s.name, Topic: s.topic}, text)
}

// take passes m to the Router when there is room for it, and reports false if the Router
// or the run stops.
func (s *routed) take(m *message.Message) bool {
	if s.a.disordered.Load() { // a middleware outside could acknowledge it
		s.a.pause()
		m.Nack()
		return true
	}
	size := int64(len(m.Payload))
	if !s.r.Budget.Take(size) {
		m.Nack()
		return false
	}
	if s.r.Stopping.Err() != nil || s.router.Err() != nil {
		s.r.Budget.Give(size)
		m.Nack()
		return false
	}
	s.name = message.HandlerNameFromCtx(m.Context())
	s.Name(s.name)
	d := newDelivery(s, m)
	s.taken.Add(1)
	s.r.Taken.Go(func() {
		defer s.taken.Done()
		d.follow()
		s.r.Budget.Give(size)
	})
	s.out <- d.copy // the Router receives until the channel is closed
	return true
}

// publisher is between a handler's Publisher and the Router. The Router publishes no
// handler's messages with it, which are in the outbox, but those that a middleware outside
// adds.
type publisher struct {
	message.Publisher
	a *Attachment
}

// decoratePublisher is the Router's PublisherDecorator. A handler may have no Publisher;
// decorators outside would call a nil one.
func (a *Attachment) decoratePublisher(inner message.Publisher) (message.Publisher, error) {
	if inner == nil {
		return noPublisher{}, nil
	}
	return &publisher{inner, a}, nil
}

// noPublisher refuses the messages that a middleware outside adds.
type noPublisher struct{}

func (noPublisher) Publish(string, ...*message.Message) error {
	return message.ErrOutputInNoPublisherHandler
}

func (noPublisher) Close() error { return nil }

// Close implements message.Publisher. The Router closes a handler's publisher when that
// handler has ended, while others may still use it. The one below is closed when
// everything taken has been settled. If the Router is closing, Close waits for that, so
// that Router.Run does not return earlier.
func (p *publisher) Close() error {
	a := p.a
	a.mu.Lock()
	r := a.run
	if r != nil && r.Stopping.Err() == nil {
		a.later = append(a.later, p.Publisher)
		a.mu.Unlock()
		return nil
	}
	a.mu.Unlock()
	if r != nil {
		<-a.ended
	}
	return p.Publisher.Close()
}
