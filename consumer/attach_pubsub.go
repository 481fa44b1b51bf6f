package consumer

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/internal/group"
)

// errTaken says that a Router kept a message for itself.
var errTaken = fmt.Errorf("a message was neither acknowledged nor given back, by a middleware outside: %w", ErrDrainTimeout)

// routerSubscriber stands between a handler's Subscriber and the Router.
type routerSubscriber struct {
	a     *attachment
	inner message.Subscriber
}

// subscriber is the Router's SubscriberDecorator.
func (a *attachment) subscriber(inner message.Subscriber) (message.Subscriber, error) {
	return &routerSubscriber{a: a, inner: inner}, nil
}

// routerSubscription is one subscription of the Router.
type routerSubscription struct {
	subscription
	a      *attachment
	r      *run
	router context.Context // ends when the Router has enough
	cancel context.CancelFunc
	source message.Subscriber
	in     <-chan *message.Message
	out    chan *message.Message
	taken  sync.WaitGroup // messages that the Router has
	leave  sync.Once
}

// Subscribe implements message.Subscriber. The subscription below does not end with ctx,
// as the Router ends it, but when everything taken from it has been settled.
func (s *routerSubscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	sub := &routerSubscription{a: s.a, router: ctx, source: s.inner, out: make(chan *message.Message)}
	sub.topic = topic
	r, err := s.a.begin(sub)
	if err != nil {
		return nil, err
	}
	sub.r = r
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(r.subscribed, cancel)
	sub.cancel = func() { stop(); cancel() }
	if sub.in, err = s.inner.Subscribe(own, topic); err != nil {
		sub.cancel()
		sub.set("failed")
		s.a.red(fmt.Errorf("subscribe to %q: %w", topic, err))
		r.receivers.Done()
		s.a.left(r)
		return nil, err
	}
	sub.set("open")
	// What serve waits for, room or the database, may come only when the run ends.
	context.AfterFunc(ctx, sub.left)
	go sub.serve()
	return sub.out, nil
}

// Close implements message.Subscriber: the Router is being closed. It blocks until
// everything taken has been settled, and closes the subscriber below then.
func (s *routerSubscriber) Close() error {
	if r := s.a.running(); r != nil {
		r.stop(nil)
		<-s.a.ended
	}
	return s.inner.Close()
}

// serve brings deliveries to the Router until it has enough, and closes the Router's
// channel when all of them are settled. It ends with the channel below, which its
// Subscriber closes.
func (s *routerSubscription) serve() {
	s.forward()
	s.r.receivers.Done()
	s.left()
	s.taken.Wait()
	s.cancel()
	close(s.out)
	for m := range s.in {
		m.Nack()
	}
}

func (s *routerSubscription) left() {
	s.leave.Do(func() { s.a.left(s.r) })
}

func (s *routerSubscription) forward() {
	for s.r.gateOpen(s.source, s.topic) {
		select {
		case <-s.r.soft.Done():
			return
		case <-s.router.Done():
			s.set("stopped")
			return
		case <-s.r.c.hold.begun():
		case m, ok := <-s.in:
			if !ok {
				s.ended()
				return
			}
			if s.a.disordered.Load() { // a middleware outside could acknowledge it
				s.a.pause()
				m.Nack()
				continue
			}
			if !s.pass(m) {
				m.Nack()
				return
			}
		}
	}
}

// pass gives m to the Router once there is room for it, and reports false where the
// Router has enough.
func (s *routerSubscription) pass(m *message.Message) bool {
	size := int64(len(m.Payload))
	if !s.r.budget.take(size) {
		return false
	}
	if s.r.soft.Err() != nil || s.router.Err() != nil {
		s.r.budget.give(size)
		return false
	}
	s.named(message.HandlerNameFromCtx(m.Context()))
	p := pass(m)
	s.taken.Add(1)
	s.r.taken.Go(func() {
		defer s.taken.Done()
		p.follow(s.a)
		s.r.budget.give(size)
	})
	s.out <- p.copy // the Router receives until the channel is closed
	return true
}

// named notes whose subscription this is.
func (s *routerSubscription) named(handler string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler = handler
}

// ended says that the broker closed the channel. A Router goes on without it and
// without a word.
func (s *routerSubscription) ended() {
	if s.r.soft.Err() != nil || s.router.Err() != nil {
		return
	}
	s.set("ended")
	s.a.red(fmt.Errorf("topic %q: %w", s.topic, ErrSubscriptionEnded))
	s.r.alert(alerts.SubscriptionEnded, &group.Handler{Name: s.get().Handler, Topic: s.topic},
		"the broker ended the subscription; the Router goes on without it: restart the process")
}

// disorder holds all messages, and tells people why.
func (a *attachment) disorder(wrong error) {
	a.disordered.Store(true)
	if !a.red(wrong) {
		return
	}
	a.c.config.Logger.Error("messages stay unacknowledged: the Router is put together wrongly", "consumer", a.c.name, "error", wrong)
	a.running().dispatcher.Send(alerts.Alert{
		Kind: alerts.WrongOrder, Consumer: a.c.name, Text: "messages stay unacknowledged: " + wrong.Error(), At: time.Now(),
	})
}

func (a *attachment) subscriptions() []Subscription {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := make([]Subscription, len(a.subs))
	for i, s := range a.subs {
		list[i] = s.get()
	}
	return list
}

// routerPublisher stands between a handler's Publisher and the Router, which publishes
// nothing by it: what handlers return is in the outbox.
type routerPublisher struct {
	a     *attachment
	inner message.Publisher // may be nil
}

// publisher is the Router's PublisherDecorator.
func (a *attachment) publisher(inner message.Publisher) (message.Publisher, error) {
	return &routerPublisher{a: a, inner: inner}, nil
}

// Publish implements message.Publisher, for what a middleware outside adds.
func (p *routerPublisher) Publish(topic string, messages ...*message.Message) error {
	if p.inner == nil {
		return message.ErrOutputInNoPublisherHandler
	}
	return p.inner.Publish(topic, messages...)
}

// Close implements message.Publisher. The Router closes a handler's publisher when that
// handler has ended, while others may still use it; the one below is closed when
// everything taken has been settled, and Close waits for that where the Router is being
// closed: then Router.Run does not return before.
func (p *routerPublisher) Close() error {
	if p.inner == nil {
		return nil
	}
	a := p.a
	a.mu.Lock()
	r := a.run
	if r != nil && r.soft.Err() == nil {
		a.later = append(a.later, p.inner)
		a.mu.Unlock()
		return nil
	}
	a.mu.Unlock()
	if r != nil {
		<-a.ended
	}
	return p.inner.Close()
}
