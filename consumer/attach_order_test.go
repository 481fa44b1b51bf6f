package consumer_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/retry"
)

type list = []message.HandlerMiddleware

// nothing is a middleware that may stand anywhere outside.
func nothing(next message.HandlerFunc) message.HandlerFunc {
	return func(m *message.Message) ([]*message.Message, error) { return next(m) }
}

// hidden is m within a function of the program's own.
func hidden(m message.HandlerMiddleware) message.HandlerMiddleware {
	return func(next message.HandlerFunc) message.HandlerFunc { return m(next) }
}

// unseen adds m when the plugin of Attach has looked.
func (r *routed) unseen(m ...message.HandlerMiddleware) {
	r.router.AddPlugin(func(router *message.Router) error { router.AddMiddleware(m...); return nil })
}

// made returns what a constructor made.
func made(m message.HandlerMiddleware, err error) message.HandlerMiddleware {
	if err != nil {
		panic(err)
	}
	return m
}

func deduplicator() message.HandlerMiddleware {
	return (&middleware.Deduplicator{KeyFactory: middleware.NewMessageHasherSHA256(64), Repository: &keys{}}).Middleware
}

// Wrong order: Router.Run fails before it subscribes, names the middleware and says what
// to do. A middleware that was added after Attach would be passed over for messages from
// the backlog; the others acknowledge or settle messages that are not kept.
func TestAttachWrongOrderStopsTheRouter(t *testing.T) {
	poison := made(middleware.PoisonQueue(&published{}, "poison"))
	b := setupSQLite(t)
	letters := made(dlq.Middleware(b.st, "test", dlq.MiddlewareOptions{}))
	effectsOnce := made(inbox.Middleware(b.st, "test", inbox.MiddlewareOptions{}))
	retries := made(retry.Middleware(retry.Policy{}, retry.MiddlewareOptions{}))
	for name, c := range map[string]struct {
		before, after, handler, handlerAfter list
		want                                 string
	}{
		"late":                {after: list{nothing}, want: "add middlewares before consumer.Attach"},
		"late, of Watermill":  {before: list{middleware.Recoverer}, after: list{middleware.CorrelationID}, want: "middleware.CorrelationID): add middlewares before"},
		"late, handler":       {handlerAfter: list{nothing}, want: "handler \"h\": middlewares in the wrong order: a middleware was added after consumer.Attach"},
		"late, poison":        {before: list{poison}, after: list{nothing}, want: "remove the middleware PoisonQueue"},
		"poison":              {before: list{poison}, want: "remove the middleware PoisonQueue"},
		"poison, handler":     {handler: list{poison}, want: "handler \"h\": middlewares in the wrong order: remove the middleware PoisonQueue"},
		"retry":               {before: list{middleware.Retry{MaxRetries: 3}.Middleware}, want: "remove the middleware Retry"},
		"retry by pointer":    {before: list{(&middleware.Retry{MaxRetries: 3}).Middleware}, want: "remove the middleware Retry"},
		"deduplicator":        {before: list{deduplicator()}, want: "remove the middleware Deduplicator"},
		"instant ack":         {before: list{middleware.InstantAck}, want: "remove the middleware InstantAck"},
		"instant ack, second": {before: list{nothing, middleware.InstantAck, nothing}, want: "remove the middleware InstantAck"},
		"our letters":         {before: list{letters}, want: "dlq.Middleware of headrace: Attach does their work"},
		"our inbox":           {before: list{effectsOnce}, want: "remove the middleware inbox.Middleware"},
		"our retries":         {handler: list{retries}, want: "retry.Middleware"},
	} {
		t.Run(name, func(t *testing.T) {
			b := setupSQLite(t)
			r := b.router()
			handler := r.router.AddConsumerHandler("h", topic, b.src, effect)
			r.router.AddMiddleware(c.before...)
			handler.AddMiddleware(c.handler...)
			r.attach(r.attached())
			r.router.AddMiddleware(c.after...)
			handler.AddMiddleware(c.handlerAfter...)
			contexts := r.subscribing()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			for what, err := range map[string]error{"Run": r.router.Run(ctx), "Ready": r.c.Ready(), "Alive": r.c.Alive()} {
				if !errors.Is(err, headrace.ErrOrder) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s: %v, want %q", what, err, c.want)
				}
			}
			if len(contexts) != 0 {
				t.Error("it subscribed")
			}
		})
	}
}

// async does not wait for the handler.
func async(next message.HandlerFunc) message.HandlerFunc {
	return func(m *message.Message) ([]*message.Message, error) {
		go func() { <-m.Acked(); _, _ = next(m) }()
		return nil, nil
	}
}

// asyncCopy does not either, and hands on a message of its own.
func asyncCopy(next message.HandlerFunc) message.HandlerFunc {
	return func(m *message.Message) ([]*message.Message, error) {
		go func() { _, _ = next(m.Copy()) }()
		return nil, nil
	}
}

// What the Router's list does not show is found at the first message: nothing is handled
// or acknowledged, and people are told.
func TestAttachWrongOrderAtTheFirstMessage(t *testing.T) {
	poison := &published{}
	b := setupSQLite(t)
	letters := made(dlq.Middleware(b.st, "test", dlq.MiddlewareOptions{NackPause: time.Millisecond}))
	early := func(next message.HandlerFunc) message.HandlerFunc {
		return func(m *message.Message) ([]*message.Message, error) { m.Ack(); return next(m) }
	}
	for name, c := range map[string]struct {
		outside, late message.HandlerMiddleware
		want          string
	}{
		"late":         {late: nothing, want: "add middlewares before consumer.Attach"},
		"poison":       {outside: hidden(made(middleware.PoisonQueue(poison, "poison"))), want: "remove the middleware PoisonQueue"},
		"retry":        {outside: hidden(middleware.Retry{MaxRetries: 3}.Middleware), want: "remove the middleware Retry"},
		"deduplicator": {outside: hidden(deduplicator()), want: "remove the middleware Deduplicator"},
		"instant ack":  {outside: hidden(middleware.InstantAck), want: "remove the middleware InstantAck"},
		"inlined": {outside: func(next message.HandlerFunc) message.HandlerFunc { return middleware.InstantAck(next) },
			want: "remove the middleware InstantAck"},
		"letters": {outside: hidden(letters), want: "dlq.Middleware"},
		"early":   {outside: early, want: "acknowledges messages before their handler has run"},
		"async":   {outside: async, want: "acknowledges messages before their handler has run"},
		"strange": {outside: func(next message.HandlerFunc) message.HandlerFunc {
			return func(m *message.Message) ([]*message.Message, error) { return next(m.Copy()) }
		}, want: "hands on a message of its own"},
		"async, strange": {outside: asyncCopy, want: "hands on a message of its own"},
	} {
		t.Run(name, func(t *testing.T) {
			b := setupSQLite(t)
			r := b.router()
			r.router.AddConsumerHandler("h", topic, b.src, effect)
			if c.outside != nil {
				r.router.AddMiddleware(c.outside)
			}
			config := r.attached()
			config.NackPause = 20 * time.Millisecond
			told := make(chan alerts.Alert, 10)
			config.Alert = func(_ context.Context, a alerts.Alert) error { told <- a; return nil }
			r.attach(config)
			if c.late != nil {
				r.unseen(c.late)
			}
			r.run()
			r.held(c.want)
			if a := <-told; a.Kind != alerts.WrongOrder || !strings.Contains(a.Text, c.want) || len(told) != 0 {
				t.Errorf("%+v and %d more", a, len(told))
			}
			if n, err := b.st.Letters().List(t.Context(), dlq.Filter{}, 0, 10); err != nil || len(n) != 0 || poison.count() != 0 {
				t.Errorf("%d letters, %d messages poisoned, %v", len(n), poison.count(), err)
			}
		})
	}
}

// What does no harm outside stays allowed: messages are handled, those that a filter
// passes over are acknowledged, and what returns an error is given back.
func TestAttachHarmlessOutside(t *testing.T) {
	t.Parallel()
	b := setupSQLite(t)
	r := b.router()
	r.router.AddConsumerHandler("h", topic, b.src, effect)
	var failed sync.Map
	r.router.AddMiddleware(
		middleware.Recoverer, middleware.CorrelationID, middleware.Timeout(20*time.Second), middleware.NewThrottle(1000, time.Second).Middleware,
		middleware.NewIgnoreErrors(nil).Middleware, middleware.Duplicator, (&middleware.DelayOnError{}).Middleware,
		func(next message.HandlerFunc) message.HandlerFunc {
			return func(m *message.Message) ([]*message.Message, error) {
				if m.Metadata.Get("skip") != "" {
					return nil, nil
				}
				out, err := next(m.CopyWithContext())
				if _, again := failed.LoadOrStore(m.UUID, true); !again {
					return nil, errBoom // after the commit: it is delivered again
				}
				return out, err
			}
		})
	config := r.attached()
	config.NackPause = time.Millisecond
	r.attach(config)
	r.run()
	skipped := func() *message.Message {
		return b.src.Deliver(topic, "skipped", []byte("{}"), map[string]string{"skip": "1"})
	}
	b.acked(skipped()) // before any other
	if b.outcome(b.deliver("m1", "{}")) {
		t.Error("acknowledged, and a middleware returned an error")
	}
	b.acked(b.deliver("m1", "{}"))
	b.acked(skipped())
	if err := errors.Join(r.c.Ready(), r.close(), r.c.Wait(b.Context())); err != nil {
		t.Error(err)
	}
	if b.effects("m1") != 1 || b.effects("skipped") != 0 {
		t.Errorf("%d and %d effects", b.effects("m1"), b.effects("skipped"))
	}
}

// What a handler does to its message does not reach the broker before the commit.
func TestAttachHandlerAcksItself(t *testing.T) {
	t.Parallel()
	b := setupSQLite(t)
	r := b.router()
	inside, goOn := make(chan struct{}), make(chan struct{})
	r.router.AddConsumerHandler("h", topic, b.src, func(m *message.Message) error {
		m.Ack()
		close(inside)
		<-goOn
		return effect(m)
	})
	r.attach(r.attached())
	r.run()
	m := b.deliver("m1", "{}")
	<-inside
	select {
	case <-m.Acked():
		t.Error("it was acknowledged before the commit")
	default:
	}
	close(goOn)
	b.acked(m)
	if b.effects("m1") != 1 {
		t.Error("no effect")
	}
}

// A second Attach is refused at once; the first goes on.
func TestAttachTwice(t *testing.T) {
	t.Parallel()
	b := setupSQLite(t)
	r := b.router()
	r.router.AddConsumerHandler("h", topic, b.src, effect)
	r.attach(r.attached())
	if _, err := consumer.Attach(r.router, b.st, r.attached()); !errors.Is(err, headrace.ErrOrder) || !strings.Contains(err.Error(), "called before with this Router") {
		t.Errorf("second Attach: %v", err)
	}
	r.run()
	b.acked(b.deliver("m1", "{}"))
	if b.effects("m1") != 1 {
		t.Error("no effect")
	}
}

// held fails the test unless messages are given back, and the reason is told.
func (r *routed) held(want string) {
	r.Helper()
	for _, id := range []string{"m1", "m1", "m2"} {
		if r.outcome(r.deliver(id, "{}")) {
			r.Errorf("%s was acknowledged", id)
		}
	}
	for _, err := range []error{r.c.Ready(), r.c.Alive()} {
		if !errors.Is(err, headrace.ErrOrder) || !strings.Contains(err.Error(), want) {
			r.Errorf("%v, want %q", err, want)
		}
	}
	if err := r.close(); err != nil {
		r.Error(err)
	}
	if r.effects("m1") != 0 || r.state("m1") != "" {
		r.Error("it was handled")
	}
}

// keys is an ExpiringKeyRepository; the goroutine of Watermill's own never ends.
type keys struct{ seen sync.Map }

func (k *keys) IsDuplicate(_ context.Context, key string) (bool, error) {
	_, seen := k.seen.LoadOrStore(key, true)
	return seen, nil
}

// Watermill's Deduplicator inside would take the second attempt for a duplicate, and
// lose the message; it and its like are refused at once.
func TestAttachRefusesRivalsInside(t *testing.T) {
	t.Parallel()
	b := setupSQLite(t)
	poisonQueue, err := middleware.PoisonQueue(&published{}, "poison")
	if err != nil {
		t.Fatal(err)
	}
	for want, m := range map[string]message.HandlerMiddleware{
		"Deduplicator": (&middleware.Deduplicator{}).Middleware,
		"Retry":        middleware.Retry{}.Middleware,
		"PoisonQueue":  poisonQueue,
		"InstantAck":   middleware.InstantAck,
		"IgnoreErrors": middleware.NewIgnoreErrors(nil).Middleware,
		"Duplicator":   middleware.Duplicator,
		"is nil":       nil,
	} {
		r := b.router()
		r.router.AddConsumerHandler("h", topic, b.src, effect)
		if _, err := consumer.Attach(r.router, b.st, r.attached(), m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := consumer.Attach(b.router().router, b.st, consumer.Config{Name: "a"}); err == nil {
		t.Error("attached to nothing")
	}
}
