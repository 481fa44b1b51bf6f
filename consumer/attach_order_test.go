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
)

// nothing is a middleware that may stand anywhere outside.
func nothing(next message.HandlerFunc) message.HandlerFunc {
	return func(m *message.Message) ([]*message.Message, error) { return next(m) }
}

// hidden is m within a function of the program's own.
func hidden(m message.HandlerMiddleware) message.HandlerMiddleware {
	return func(next message.HandlerFunc) message.HandlerFunc { return m(next) }
}

// unseen adds m when the plugin of Attach has added its own.
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

// What is wrong outside is found at the first message, or when the Router starts: nothing is
// handled or acknowledged, and people are told.
//
//evidence:attach-order
func TestAttachWrongOrderAtTheFirstMessage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		outside, late message.HandlerMiddleware
		want          string
	}{
		"late":        {late: nothing, want: "a middleware was added while the Router started"},
		"instant ack": {outside: middleware.InstantAck, want: "acknowledges messages before their handler has run"},
		"inlined": {outside: func(next message.HandlerFunc) message.HandlerFunc { return middleware.InstantAck(next) },
			want: "acknowledges messages before their handler has run"},
		"early": {outside: func(next message.HandlerFunc) message.HandlerFunc {
			return func(m *message.Message) ([]*message.Message, error) { m.Ack(); return next(m) }
		}, want: "acknowledges messages before their handler has run"},
		"async": {outside: async, want: "acknowledges messages before their handler has run"},
		"strange": {outside: func(next message.HandlerFunc) message.HandlerFunc {
			return func(m *message.Message) ([]*message.Message, error) { return next(m.Copy()) }
		}, want: "passes on a message of its own"},
		"async, strange": {outside: asyncCopy, want: "passes on a message of its own"},
	} {
		t.Run(name, func(t *testing.T) {
			b := setupSQLite(t)
			r := b.router()
			r.router.AddConsumerHandler("h", topic, b.src, effect)
			if c.outside != nil {
				r.router.AddMiddleware(c.outside)
			}
			config, told := r.telling()
			r.attach(config)
			if c.late != nil {
				r.unseen(c.late)
			}
			r.run()
			if strings.HasPrefix(name, "async") { // the first may be acknowledged before its handler is called
				r.outcome(r.deliver("m0", "{}"))
				r.eventually("it is found", func() bool { return r.c.Ready() != nil })
			}
			r.held(c.want)
			if a := next(told); a.Kind != alerts.WrongOrder || !strings.Contains(a.Text, c.want) || len(told) != 0 {
				t.Errorf("%+v and %d more", a, len(told))
			}
			if n, err := b.st.Letters().List(t.Context(), dlq.Filter{}, 0, 10); err != nil || len(n) != 0 {
				t.Errorf("%d letters, %v", len(n), err)
			}
		})
	}
}

// cut ends the context of the first message, whose delivery is given back for that.
func cut() message.HandlerMiddleware {
	var once sync.Once
	return func(next message.HandlerFunc) message.HandlerFunc {
		return func(m *message.Message) ([]*message.Message, error) {
			ctx, cancel := context.WithCancel(m.Context())
			defer cancel()
			once.Do(cancel)
			m.SetContext(ctx)
			return next(m)
		}
	}
}

// What a middleware outside makes of a message that is given back is compared with that:
// Deduplicator would drop its redelivery, and PoisonQueue publishes it.
//
//evidence:attach-order
func TestAttachWrongOrderAfterAGiveBack(t *testing.T) {
	t.Parallel()
	for want, m := range map[string]message.HandlerMiddleware{
		"skips a message that was given back before":            deduplicator(),
		"ignores the error of a message that is given back":     made(middleware.PoisonQueue(&published{}, "poison")),
		"ignores the error of a message that is given back, as": middleware.NewIgnoreErrors([]error{context.Canceled, errors.New("given back to be delivered again: context canceled")}).Middleware,
	} {
		t.Run(want, func(t *testing.T) {
			b := setupSQLite(t)
			r := b.router()
			r.router.AddConsumerHandler("h", topic, b.src, effect)
			r.router.AddMiddleware(m, cut())
			config, told := r.telling()
			r.attach(config)
			r.run()
			if b.outcome(b.deliver("m1", "{}")) {
				t.Error("m1 was acknowledged")
			}
			if strings.HasPrefix(want, "ignores the error") { // the others show at the redelivery
				b.eventually("it is found", func() bool { return r.c.Alive() != nil })
			}
			r.held(want)
			if a := next(told); a.Kind != alerts.WrongOrder || !strings.Contains(a.Text, want) {
				t.Errorf("%+v", a)
			}
		})
	}
}

// A redelivery that comes to its handler is applied, and its duplicates may be passed over
// after that.
func TestAttachGivenBackAndApplied(t *testing.T) {
	t.Parallel()
	b := setupSQLite(t)
	r := b.router()
	r.router.AddConsumerHandler("h", topic, b.src, effect)
	var applied sync.Map
	r.router.AddMiddleware(func(next message.HandlerFunc) message.HandlerFunc {
		return func(m *message.Message) ([]*message.Message, error) {
			if _, ok := applied.Load(m.UUID); ok {
				return nil, nil
			}
			out, err := next(m)
			if err == nil {
				applied.Store(m.UUID, true)
			}
			return out, err
		}
	}, middleware.Retry{MaxRetries: 2, InitialInterval: time.Millisecond}.Middleware, cut())
	config, _ := r.telling()
	r.attach(config)
	r.run()
	if b.outcome(b.deliver("m1", "{}")) {
		t.Error("m1 was acknowledged")
	}
	b.acked(b.deliver("m1", "{}"))
	b.acked(b.deliver("m1", "{}"))
	if err := errors.Join(r.c.Ready(), r.close(), r.c.Wait(b.Context())); err != nil || b.effects("m1") != 1 {
		t.Errorf("%v, %d effects", err, b.effects("m1"))
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

// A second Attach is refused by Router.Run, before it subscribes.
func TestAttachTwice(t *testing.T) {
	t.Parallel()
	for name, between := range map[string]func(r *routed){"": func(*routed) {}, "with a decorator between": func(r *routed) { r.subscribing() }} {
		b := setupSQLite(t)
		r := b.router()
		r.router.AddConsumerHandler("h", topic, b.src, effect)
		config, _ := r.telling()
		r.attach(config)
		between(r)
		r.attach(config)
		if name == "" {
			ctx, cancel := context.WithTimeout(b.Context(), 10*time.Second)
			defer cancel()
			if err := r.router.Run(ctx); !errors.Is(err, headrace.ErrOrder) || !strings.Contains(err.Error(), "called twice with this Router") {
				t.Errorf("Router.Run: %v", err)
			}
			continue
		}
		r.run()
		if b.outcome(b.deliver("m1", "{}")) || b.effects("m1") != 0 {
			t.Error("m1 was handled")
		}
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
//
//evidence:attach-order
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
