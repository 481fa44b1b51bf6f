package consumer_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/retry"
)

// subscribing tells what context is subscribed with: after attach, the Router's, and
// before it, ours.
func (r *routed) subscribing() (contexts chan context.Context) {
	contexts = make(chan context.Context, 10)
	r.router.AddSubscriberDecorators(func(s message.Subscriber) (message.Subscriber, error) {
		return subscribing{s, contexts}, nil
	})
	return contexts
}

type subscribing struct {
	message.Subscriber
	contexts chan context.Context
}

func (s subscribing) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	s.contexts <- ctx
	return s.Subscriber.Subscribe(ctx, topic)
}

// Trap, Router.Close: it cancels what handlers are doing at once. Here what was begun
// finishes, is acknowledged and published before Run returns, and what was not begun is
// given back.
//
//evidence:attach
func TestAttachCloseDrains(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		r := b.router()
		inside, goOn := make(chan struct{}), make(chan struct{})
		r.router.AddHandler("h", topic, b.src, reply, r.own, func(m *message.Message) ([]*message.Message, error) {
			close(inside)
			<-goOn
			if err := m.Context().Err(); err != nil {
				return nil, err
			}
			return answer(m)
		})
		config := r.attached()
		config.Concurrency = 1
		below := r.subscribing()
		r.attach(config)
		contexts := r.subscribing()
		r.run()
		begun := b.deliver("begun", `{}`)
		<-inside
		queued := b.deliver("queued", `{}`)
		b.eventually("both are taken in", func() bool { return r.c.Stats().InFlight == 2 })
		closed := make(chan error, 1)
		go func() { closed <- r.router.Close() }()
		<-(<-contexts).Done()
		if b.outcome(queued) {
			b.Error("the queued one was acknowledged")
		}
		select {
		case <-r.ran:
			b.Error("Router.Run returned while a handler was running")
		case <-begun.Nacked():
			b.Error("given back while it was handled")
		case <-(<-below).Done(): // some adapters forget what they delivered
			b.Error("the subscription ended while a handler was running")
		default:
		}
		close(goOn)
		b.acked(begun)
		if err := errors.Join(<-closed, b.await(r), r.c.Wait(b.Context())); err != nil {
			b.Error(err)
		}
		if b.effects("begun") != 1 || b.effects("queued") != 0 || b.state("queued") != "" || r.own.count() != 0 {
			b.Error("effects do not fit")
		}
	})
}

func (b *bundle) await(r *routed) error {
	r.cancel()
	r.cancel = nil
	return r.await(r.ran)
}

// The same with a Subscriber whose messages end with their subscription, and a Router
// whose context ends.
func TestAttachDetaches(t *testing.T) {
	t.Parallel()
	b := setupSQLite(t)
	r := b.router()
	channel := gochannel.NewGoChannel(gochannel.Config{Persistent: true}, watermill.NopLogger{})
	inside, goOn := make(chan struct{}), make(chan struct{})
	r.router.AddConsumerHandler("h", topic, channel, func(m *message.Message) error {
		close(inside)
		<-goOn
		if err := m.Context().Err(); err != nil {
			return retry.Permanent(err)
		}
		return effect(m)
	})
	r.attach(r.attached())
	contexts := r.subscribing()
	r.run()
	if err := channel.Publish(topic, message.NewMessage("m1", []byte("{}"))); err != nil {
		t.Fatal(err)
	}
	<-inside
	r.cancel()
	<-(<-contexts).Done()
	close(goOn)
	if err := r.close(); err != nil {
		t.Error(err)
	}
	if b.effects("m1") != 1 || r.c.Stats().Applied != 1 {
		t.Errorf("%d effects, %+v", b.effects("m1"), r.c.Stats())
	}
	_ = channel.Close()
}

// Router.Run does not return before a handler that runs from the backlog does, which no
// Router knows of: it waits for its publishers to close.
func TestAttachCloseDrainsTheBacklog(t *testing.T) {
	t.Parallel()
	b := setupSQLite(t)
	r := b.router()
	inside, closing := make(chan struct{}), make(chan struct{})
	var n runs
	var finished, early atomic.Bool
	r.router.AddPublisherDecorators(func(p message.Publisher) (message.Publisher, error) { // outside of ours
		return closings{p, func() { close(closing) }, func() { early.Store(!finished.Load()) }}, nil
	})
	r.router.AddConsumerHandler("h", topic, b.src, func(m *message.Message) error {
		if n.next("m1") == 1 {
			return errBoom
		}
		close(inside)
		<-closing
		defer finished.Store(true)
		return effect(m)
	})
	config := r.attached()
	config.Retry = retry.Policy{MaxAttempts: 2, Backoff: quick.Backoff}
	r.attach(config)
	r.run()
	b.acked(b.deliver("m1", "{}"))
	<-inside
	if err := errors.Join(r.close(), r.c.Wait(b.Context())); err != nil {
		t.Error(err)
	}
	if early.Load() || b.effects("m1") != 1 || r.c.Stats().BacklogApplied != 1 {
		t.Errorf("closed early %v, %d effects, %+v", early.Load(), b.effects("m1"), r.c.Stats())
	}
}

// closings tells of Close, before and after it.
type closings struct {
	message.Publisher
	before, after func()
}

func (c closings) Close() error {
	c.before()
	defer c.after()
	return c.Publisher.Close()
}

// Invariant 23: a handler that outlives the drain time is cancelled, no attempt is
// recorded (trap: PoisonQueue poisons at shutdown).
func TestAttachDrainTimeoutCancels(t *testing.T) {
	t.Parallel()
	b := setupSQLite(t)
	r := b.router()
	inside := make(chan struct{})
	r.router.AddConsumerHandler("h", topic, b.src, func(m *message.Message) error {
		close(inside)
		<-m.Context().Done()
		return m.Context().Err()
	})
	config := r.attached()
	config.DrainTimeout = 20 * time.Millisecond
	r.attach(config)
	r.run()
	m := b.deliver("m1", "{}")
	<-inside
	if err := r.close(); err != nil {
		t.Error(err)
	}
	if b.outcome(m) || b.state("m1") != "" {
		t.Errorf("it is %q", b.state("m1"))
	}
}

// Trap, Router: an ended subscription is silent, Run goes on. Here people are told, and
// the other handlers go on.
func TestAttachEndedSubscription(t *testing.T) {
	t.Parallel()
	b := setupSQLite(t)
	r := b.router()
	other := gochannel.NewGoChannel(gochannel.Config{Persistent: true}, watermill.NopLogger{})
	r.router.AddConsumerHandler("ends", "brief", other, effect)
	r.router.AddConsumerHandler("stays", topic, b.src, effect)
	config := r.attached()
	told := make(chan alerts.Alert, 10)
	config.Alert = func(_ context.Context, a alerts.Alert) error { told <- a; return nil }
	r.attach(config)
	r.run()
	b.acked(b.deliver("m1", "{}"))
	b.eventually("ready", func() bool { return r.c.Ready() == nil })
	_ = other.Close()
	if a := <-told; a.Kind != alerts.SubscriptionEnded || a.Topic != "brief" {
		t.Errorf("%+v", a)
	}
	for _, err := range []error{r.c.Ready(), r.c.Alive()} {
		if !errors.Is(err, consumer.ErrSubscriptionEnded) {
			t.Error(err)
		}
	}
	b.acked(b.deliver("m2", "{}"))
	states := map[string]string{}
	for _, s := range r.c.Subscriptions() {
		states[s.Topic] = s.State
	}
	if states["brief"] != "ended" || states[topic] != "open" {
		t.Errorf("%v", states)
	}
	if err := errors.Join(r.close(), r.c.Wait(b.Context())); !errors.Is(err, consumer.ErrSubscriptionEnded) {
		t.Errorf("Wait: %v", err)
	}
}

// A subscription that cannot be had is told as well, and ends what had begun.
func TestAttachFailedSubscription(t *testing.T) {
	t.Parallel()
	b := setupSQLite(t)
	r := b.router()
	dead := gochannel.NewGoChannel(gochannel.Config{}, watermill.NopLogger{})
	_ = dead.Close()
	r.router.AddConsumerHandler("h", topic, dead, effect)
	r.attach(r.attached())
	if err := r.router.Run(b.Context()); err == nil {
		t.Error("Router.Run returned nil")
	}
	if err := r.c.Wait(b.Context()); err == nil || !strings.Contains(err.Error(), "subscribe to") {
		t.Errorf("Wait: %v", err)
	}
}

// Trap, Router: it closes a handler's publisher while others may still use it. Here that
// waits until everything has been settled, so that even the sink may be the same one.
func TestAttachClosesPublishersLast(t *testing.T) {
	t.Parallel()
	b := setupSQLite(t)
	r := b.router()
	second := &stopped{b.src}
	stopping := r.router.AddHandler("stopped", "brief", second, reply, r.sink, answer)
	r.router.AddHandler("stays", topic, b.src, reply, r.sink, answer)
	r.attach(r.attached())
	r.run()
	b.eventually("ready", func() bool { return r.c.Ready() == nil })
	stopping.Stop()
	<-stopping.Stopped()
	if n := r.sink.closings(); n != 0 {
		t.Fatalf("closed %d times while a handler runs", n)
	}
	if err := r.c.Ready(); err != nil {
		t.Errorf("a handler that the program stopped: %v", err)
	}
	b.acked(b.deliver("m1", "{}"))
	b.eventually("the answer", func() bool { return r.sink.count() == 1 })
	if err := errors.Join(r.close(), r.c.Wait(b.Context())); err != nil {
		t.Error(err)
	}
	if n := r.sink.closings(); n != 2 {
		t.Errorf("closed %d times, the Router has two handlers", n)
	}
}

// stopped passes Subscribe on, and is not closed with its handler.
type stopped struct{ message.Subscriber }

func (*stopped) Close() error { return nil }

// A Router that is closed during an outage is not held up: what was taken is given back.
func TestAttachCloseDuringOutage(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		f := b.failing()
		r := b.router()
		r.router.AddConsumerHandler("h", topic, b.src, effect)
		config := r.attached()
		config.MaxInFlight = 1
		r.attach(config)
		r.run()
		b.acked(b.deliver("before", "{}"))
		f.down.Store(true)
		during, next := b.deliver("during", "{}"), b.deliver("next", "{}")
		b.eventually("not ready", func() bool { return r.c.Ready() != nil })
		r.cancel() // no Close: all that ends is the context of each subscription
		if err := r.await(r.ran); err != nil {
			b.Error(err)
		}
		r.cancel = nil
		f.down.Store(false)
		if b.outcome(during) {
			b.Error("acknowledged during the outage")
		}
		_ = next // it stays with the source, or is given back
	})
}

// Trap, Nack: one message was delivered 587,788 times in a second. What is given back
// while the Router runs waits for NackPause first.
func TestAttachPausesBeforeNack(t *testing.T) {
	t.Parallel()
	b := setupSQLite(t)
	r := b.router()
	r.router.AddConsumerHandler("h", topic, b.src, effect)
	config := r.attached()
	config.NackPause = 50 * time.Millisecond
	r.attach(config)
	r.unseen(middleware.Recoverer)
	r.run()
	for range 3 { // the first by the middleware, the others before the Router
		start := time.Now()
		if b.outcome(b.deliver("m1", "{}")) {
			t.Error("acknowledged")
		}
		if took := time.Since(start); took < config.NackPause {
			t.Errorf("given back after %s", took)
		}
	}
}

// The backlog is not worked off through middlewares in the wrong order either.
func TestAttachWrongOrderHoldsTheBacklog(t *testing.T) {
	t.Parallel()
	b := setupSQLite(t)
	first := b.router()
	first.router.AddConsumerHandler("h", topic, b.src, func(*message.Message) error { return retry.Permanent(errBoom) })
	first.attach(first.attached())
	first.run()
	b.acked(b.deliver("m1", "{}"))
	if err := first.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := redrive.New(b.st).Redrive(b.Context(), redrive.Request{Filter: dlq.Filter{Key: "m1"}, By: "ann", Reason: "mended"}); err != nil {
		t.Fatal(err)
	}
	r := b.router()
	channel := gochannel.NewGoChannel(gochannel.Config{Persistent: true}, watermill.NopLogger{})
	r.router.AddConsumerHandler("h", topic, channel, effect)
	config := r.attached()
	config.NackPause = time.Millisecond
	r.attach(config)
	r.unseen(middleware.CorrelationID)
	r.run()
	if err := channel.Publish(topic, message.NewMessage("m2", nil)); err != nil {
		t.Fatal(err)
	}
	b.eventually("the wrong order is found", func() bool { return errors.Is(r.c.Alive(), headrace.ErrOrder) })
	if err := r.close(); err != nil {
		t.Error(err)
	}
	if b.effects("m1") != 0 || b.state("m1") != inbox.Waiting {
		t.Errorf("%d effects, it is %s", b.effects("m1"), b.state("m1"))
	}
	_ = channel.Close()
}
