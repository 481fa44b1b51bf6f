package consumer_test

import (
	"context"
	"errors"
	"strings"
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

// around are the middlewares that must not stand around a handler, by what the error
// calls them.
func around(poison message.Publisher) map[string]message.HandlerMiddleware {
	return map[string]message.HandlerMiddleware{
		"Retry":        middleware.Retry{MaxRetries: 2, InitialInterval: time.Millisecond}.Middleware,
		"Deduplicator": deduplicator(),
		"Duplicator":   middleware.Duplicator,
		"IgnoreErrors": middleware.NewIgnoreErrors([]error{errBoom}).Middleware,
		"PoisonQueue":  made(middleware.PoisonQueue(poison, "poison")),
		"InstantAck":   middleware.InstantAck,
	}
}

// A handler that was registered in a rival is refused by Attach, by name, and so is a
// rival that a function of the program's own among inside puts around it.
func TestAttachRefusesRivalsAroundTheHandler(t *testing.T) {
	t.Parallel()
	b := setupSQLite(t)
	for want, m := range around(&published{}) {
		for where, attach := range map[string]func(r *routed) error{
			"registered": func(r *routed) error {
				r.router.AddHandler("h", topic, b.src, reply, r.own, m(answer))
				_, err := consumer.Attach(r.router, b.st, r.attached())
				return err
			},
			"inside": func(r *routed) error {
				r.router.AddHandler("h", topic, b.src, reply, r.own, answer)
				_, err := consumer.Attach(r.router, b.st, r.attached(), middleware.Recoverer, hidden(m), nothing)
				return err
			},
		} {
			if err := attach(b.router()); !errors.Is(err, headrace.ErrOrder) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `handler "h"`) {
				t.Errorf("%s %s: %v", where, want, err)
			}
		}
	}
}

// deeper is m where neither its name nor its code is to be seen before it runs.
func deeper(m message.HandlerMiddleware) message.HandlerMiddleware {
	return func(next message.HandlerFunc) message.HandlerFunc {
		f := m(next)
		return func(m *message.Message) ([]*message.Message, error) { return f(m) }
	}
}

// What is hidden inside is found by what it does. One that repeats or hides a failure, or
// passes over the next attempt, fails the attempt: the message becomes a dead letter, or its
// effect is there once. One that runs the handler again after it succeeded is refused.
//
//evidence:attach-order
func TestAttachRivalsHiddenInside(t *testing.T) {
	t.Parallel()
	for name, m := range around(&published{}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupSQLite(t)
			r := b.router()
			var n runs
			r.router.AddConsumerHandler("h", topic, b.src, func(m *message.Message) error {
				if err := effect(m); err != nil || n.next(m.UUID) > 1 || name == "Duplicator" {
					return err
				}
				return errBoom
			})
			config, told := r.telling()
			r.attach(config, nothing, deeper(m), nothing)
			r.run()
			switch name {
			case "Duplicator":
				r.held("more than once in an attempt")
			case "Deduplicator":
				b.acked(b.deliver("m1", "{}"))
				b.eventually("it is dead", func() bool { return b.state("m1") == inbox.Dead })
				if n := b.attemptsOf("h", "m1"); len(n) != 3 || !strings.Contains(n[1].Error, "skipped a message") {
					t.Errorf("%+v", n)
				}
			default:
				b.acked(b.deliver("m1", "{}"))
				b.eventually("it is done", func() bool { return b.state("m1") == inbox.Done })
				if b.effects("m1") != 1 || b.failed("m1") != 1 || n.of("m1") != 2 || len(told) != 0 {
					t.Errorf("%d effects, %d failed attempts, %d runs, %d alerts", b.effects("m1"), b.failed("m1"), n.of("m1"), len(told))
				}
			}
		})
	}
}

// telling is a config with short pauses, and its alerts.
func (r *routed) telling() (consumer.Config, chan alerts.Alert) {
	config, told := r.attached(), make(chan alerts.Alert, 10)
	config.NackPause, config.Retry = 20*time.Millisecond, retry.Policy{MaxAttempts: 3, Backoff: quick.Backoff}
	config.Alert = func(_ context.Context, a alerts.Alert) error { told <- a; return nil }
	return config, told
}

// next is the next alert; the zero value where none comes.
func next(told chan alerts.Alert) (a alerts.Alert) {
	select {
	case a = <-told:
	case <-time.After(30 * time.Second):
	}
	return a
}

// failed counts the attempts of the handler h.
func (b *bundle) failed(key string) int {
	b.Helper()
	return len(b.attemptsOf("h", key))
}

// Middlewares of the program's own inside: one that calls the handler again after it
// succeeded, or does not wait for it, is held like a rival.
func TestAttachOwnMiddlewaresInsideThatAreHeld(t *testing.T) {
	t.Parallel()
	for want, inside := range map[string]func(next message.HandlerFunc) message.HandlerFunc{
		"more than once in an attempt": func(next message.HandlerFunc) message.HandlerFunc {
			return func(m *message.Message) ([]*message.Message, error) { _, _ = next(m); return next(m) }
		},
		"returns before the handler has": func(next message.HandlerFunc) message.HandlerFunc {
			return func(m *message.Message) ([]*message.Message, error) {
				go func() { _, _ = next(m) }()
				return nil, nil
			}
		},
	} {
		b := setupSQLite(t)
		r := b.router()
		over := make(chan struct{}) // no handler is done before the middleware inside returns
		r.router.AddConsumerHandler("h", topic, b.src, func(m *message.Message) error {
			if strings.HasPrefix(want, "returns") {
				<-over
			}
			return effect(m)
		})
		config, told := r.telling()
		r.attach(config, inside)
		r.run()
		r.held(want)
		close(over)
		if a := next(told); a.Kind != alerts.WrongOrder || !strings.Contains(a.Text, want) {
			t.Errorf("%+v", a)
		}
	}
}

// A run that failed after it had used the transaction fails its attempt, whatever a
// middleware inside makes of that: it calls again, or passes over the error. Config.Retry
// has the handler run again, and its effect is there once.
//
//evidence:attach-order
func TestAttachFailedRunFailsTheAttempt(t *testing.T) {
	for name, inside := range map[string]message.HandlerMiddleware{
		"again": func(next message.HandlerFunc) message.HandlerFunc {
			return func(m *message.Message) (out []*message.Message, err error) {
				for range 3 {
					if out, err = next(m); err == nil {
						break
					}
				}
				return out, err
			}
		},
		"passes over": func(next message.HandlerFunc) message.HandlerFunc {
			return func(m *message.Message) ([]*message.Message, error) { out, _ := next(m); return out, nil }
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEachStore(t, func(b *bundle) {
				r := b.router()
				var n runs
				r.router.AddConsumerHandler("h", topic, b.src, func(m *message.Message) error {
					if err := effect(m); err != nil || n.next(m.UUID) > 1 {
						return err
					}
					return errBoom
				})
				config, _ := r.telling()
				r.attach(config, inside)
				r.run()
				b.acked(b.deliver("m1", "{}"))
				b.eventually("it is done", func() bool { return b.state("m1") == inbox.Done })
				if b.effects("m1") != 1 || b.failed("m1") != 1 || r.c.Ready() != nil {
					b.Errorf("%d effects, %d failed attempts, %v", b.effects("m1"), b.failed("m1"), r.c.Ready())
				}
			})
		})
	}
}

// Without a use of the transaction nothing of a failed run is kept, and a middleware
// inside may do with its error as it likes.
func TestAttachFailedRunWithoutATransaction(t *testing.T) {
	t.Parallel()
	b := setupSQLite(t)
	r := b.router()
	var n runs
	r.router.AddConsumerHandler("h", topic, b.src, func(m *message.Message) error {
		if n.next(m.UUID) == 1 || m.UUID == "unknown" {
			return errBoom
		}
		return effect(m)
	})
	config, _ := r.telling()
	r.attach(config, func(next message.HandlerFunc) message.HandlerFunc {
		return func(m *message.Message) ([]*message.Message, error) {
			if out, err := next(m); err == nil {
				return out, nil
			}
			if m.UUID == "unknown" {
				return nil, nil
			}
			return next(m)
		}
	})
	r.run()
	b.acked(b.deliver("m1", "{}"))
	b.acked(b.deliver("unknown", "{}"))
	if b.effects("m1") != 1 || b.failed("m1") != 0 || b.state("unknown") != inbox.Done || r.c.Ready() != nil {
		t.Errorf("%d effects, %d failed attempts, %s, %v", b.effects("m1"), b.failed("m1"), b.state("unknown"), r.c.Ready())
	}
}

// A handler that does its work in a goroutine after it has returned cannot be held up, but
// it does not stay unseen.
func TestAttachHandlerGoesOnAfterItsReturn(t *testing.T) {
	t.Parallel()
	b := setupSQLite(t)
	r := b.router()
	returned := make(chan struct{})
	r.router.AddConsumerHandler("h", topic, b.src, func(m *message.Message) error {
		go func() { <-returned; _ = effect(m) }()
		return nil
	})
	config, told := r.telling()
	r.attach(config)
	r.run()
	b.acked(b.deliver("m0", "{}"))
	close(returned)
	if a := next(told); a.Kind != alerts.WrongOrder || !strings.Contains(a.Text, "a goroutine of it asks") {
		t.Errorf("%+v", a)
	}
	r.held("a goroutine of it asks")
}

// The backlog is not worked off by a handler in a rival: no attempt is spent.
func TestAttachRivalHoldsTheBacklog(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		first := b.router()
		first.router.AddConsumerHandler("h", topic, b.src, func(*message.Message) error { return retry.Permanent(errBoom) })
		first.attach(first.attached())
		first.run()
		b.acked(b.deliver("m1", "{}"))
		if err := first.close(); err != nil {
			b.Fatal(err)
		}
		if _, err := redrive.New(b.st).Redrive(b.Context(), redrive.Request{Filter: dlq.Filter{Key: "m1"}, By: "ann", Reason: "mended"}); err != nil {
			b.Fatal(err)
		}
		before := b.failed("m1")
		r := b.router()
		channel := gochannel.NewGoChannel(gochannel.Config{}, watermill.NopLogger{})
		r.router.AddConsumerHandler("h", topic, channel, effect)
		config, told := r.telling()
		r.attach(config, deeper(middleware.Duplicator))
		r.run()
		if a := b.told(told, alerts.WrongOrder); !strings.Contains(a.Text, "more than once in an attempt") {
			b.Errorf("%+v", a)
		}
		if err := errors.Join(r.close(), channel.Close()); err != nil {
			b.Error(err)
		}
		if b.effects("m1") != 0 || b.state("m1") != inbox.Waiting || b.failed("m1") != before {
			b.Errorf("%d effects, it is %s after %d attempts, %d before", b.effects("m1"), b.state("m1"), b.failed("m1"), before)
		}
	})
}
