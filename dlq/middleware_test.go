package dlq_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	. "github.com/headrace/headrace/internal/routertest"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/txn"
)

var errBad = errors.New("bad order 42")

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// letters, retries and applied are the three middlewares with hardly any pause.
func letters(b *Bench) message.HandlerMiddleware {
	return Make(dlq.Middleware(b.Store, Consumer, dlq.MiddlewareOptions{Handler: Handler, NackPause: time.Millisecond, Logger: quiet}))
}

func retries(p retry.Policy) message.HandlerMiddleware {
	return Make(retry.Middleware(p, retry.MiddlewareOptions{NackPause: time.Millisecond}))
}

func applied(b *Bench, o inbox.MiddlewareOptions) message.HandlerMiddleware {
	o.Handler, o.NackPause = Handler, time.Millisecond
	return Make(inbox.Middleware(b.Store, Consumer, o))
}

// twice is a policy of two attempts.
var twice = retry.Policy{MaxAttempts: 2, Immediate: 1}

// order is a message with what a copy could lose.
func order(id string) *message.Message {
	m := Message(id, "\xff payload of "+id)
	m.Metadata.Set("k", "v")
	return m
}

// fails changes its message and fails.
func fails(m *message.Message) ([]*message.Message, error) {
	m.Payload[0] = 'x'
	m.Metadata.Set("k", "w")
	m.UUID = "other"
	return nil, errBad
}

// TRAPS, PoisonQueue: it publishes the message as the handler mutated it. Invariant 12:
// the letter has the message as it came, its class and its attempts.
func TestMiddlewareKeepsTheMessageAsItCame(t *testing.T) {
	t.Parallel()
	for name, inside := range map[string]bool{"alone": false, "with the others": true} {
		t.Run(name, func(t *testing.T) {
			OnEachStore(t, func(b *Bench) {
				watch, told := Watch()
				ms := []message.HandlerMiddleware{watch, letters(b)}
				attempts := 1
				if inside {
					attempts = 2
					ms = append(ms, retries(twice), applied(b, inbox.MiddlewareOptions{}))
				}
				b.Run(fails, ms...)
				b.Send(order("m"))
				if err := b.Next(told); err != nil {
					b.Error(err)
				}
				found := b.Letters()
				if len(found) != 1 {
					b.Fatalf("%d letters", len(found))
				}
				l := found[0]
				if string(l.Delivery.Payload) != "\xff payload of m" || l.Delivery.Metadata["k"] != "v" || l.Delivery.ID != "m" || l.Delivery.Topic != Topic || l.Delivery.ReplyTopic != Replies {
					b.Errorf("%+v", l.Delivery)
				}
				if l.Class != dlq.Exhausted || l.Attempts != attempts || l.Error != errBad.Error() || l.Handler != Handler || l.Consumer != Consumer || l.FirstFailure.After(l.LastFailure) {
					b.Errorf("%+v", l)
				}
				recorded, err := b.Store.Inbox().Attempts(b.Context(), l.ID())
				if err != nil || len(recorded) != attempts || recorded[0].Class != string(retry.Transient) {
					b.Errorf("%+v, %v", recorded, err)
				}
				if row, _ := b.Row("m"); row.State != inbox.Dead {
					b.Errorf("row %+v", row)
				}
				b.Send(order("m")) // again: a duplicate
				if err := b.Next(told); err != nil || len(b.Letters()) != 1 {
					b.Errorf("%v, %d letters", err, len(b.Letters()))
				}
			})
		})
	}
}

func TestMiddlewareClasses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		h       message.HandlerFunc
		class   dlq.Class
		attempt retry.Class
		stack   bool
	}{
		"permanent": {func(*message.Message) ([]*message.Message, error) { return nil, retry.Permanent(errBad) }, dlq.Permanent, retry.PermanentFailure, false},
		"panic":     {func(*message.Message) ([]*message.Message, error) { panic("boom") }, dlq.Exhausted, retry.Panic, true},
		"goexit":    {func(*message.Message) ([]*message.Message, error) { runtime.Goexit(); return nil, nil }, dlq.Exhausted, retry.Transient, false},
		"nack":      {func(m *message.Message) ([]*message.Message, error) { m.Nack(); return nil, nil }, dlq.Exhausted, retry.Transient, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := OnSQLite(t)
			b.Run(tc.h, letters(b), retries(retry.Policy{MaxAttempts: 1}), applied(b, inbox.MiddlewareOptions{}))
			b.Send(order("m"))
			b.Eventually("the letter", func() bool { return len(b.Letters()) == 1 })
			l := b.Letters()[0]
			if l.Class != tc.class || (l.Stack != "") != tc.stack {
				t.Errorf("%+v", l)
			}
			list, err := b.Store.Inbox().Attempts(b.Context(), l.ID())
			if err != nil || len(list) != 1 || list[0].Class != string(tc.attempt) {
				t.Errorf("%+v, %v", list, err)
			}
		})
	}
}

// A conflict has a letter of its own, and the message that had the key first is not
// touched; a message without a usable key is kept under one.
func TestMiddlewareConflictAndUndecodable(t *testing.T) {
	t.Parallel()
	OnEachStore(t, func(b *Bench) {
		h := letters(b)(retries(twice)(applied(b, inbox.MiddlewareOptions{Key: inbox.Header("id")})(func(m *message.Message) ([]*message.Message, error) {
			return nil, Insert(m)
		})))
		for range 2 {
			for id, key := range map[string]string{"1": "k", "3": ""} {
				m := order(id)
				m.Metadata.Set("id", key)
				if _, err := h(m); err != nil {
					b.Fatal(err)
				}
			}
			second := order("2")
			second.Metadata.Set("id", "k")
			if _, err := h(second); err != nil {
				b.Fatal(err)
			}
		}
		classes := map[dlq.Class]dlq.Letter{}
		for _, l := range b.Letters() {
			classes[l.Class] = l
		}
		c, u := classes[dlq.Conflict], classes[dlq.Undecodable]
		if len(b.Letters()) != 2 || c.Delivery.ID != "2" || c.Delivery.Key != "k" || c.FirstPrint == "" || c.Attempts != 0 {
			b.Errorf("conflict %+v", c)
		}
		if u.Delivery.ID != "3" || u.Delivery.Key != "3" || !strings.Contains(u.Error, "absent") || u.Attempts != 0 {
			b.Errorf("undecodable %+v", u)
		}
		if b.Effects("1") != 1 || b.Effects("2")+b.Effects("3") != 0 {
			b.Error("the effects are wrong")
		}
	})
}

// Alone, two messages that share a key and both fail are two letters.
func TestMiddlewareTwoDeadMessagesOfOneKey(t *testing.T) {
	t.Parallel()
	OnEachStore(t, func(b *Bench) {
		h := Make(dlq.Middleware(b.Store, Consumer, dlq.MiddlewareOptions{Handler: Handler, Key: inbox.Literal("k"), NackPause: 1, Logger: quiet,
			Topic: func(topic string) string { return topic + ".dead" }}))(fails)
		for _, id := range []string{"1", "2", "2", "1"} {
			if _, err := h(order(id)); err != nil {
				b.Fatal(err)
			}
		}
		found := b.Letters()
		if len(found) != 2 || found[0].Class != dlq.Conflict || found[1].Class != dlq.Exhausted || !strings.Contains(found[0].Error, errBad.Error()) {
			b.Errorf("%+v", found)
		}
		if events := b.Events(); len(events) != 2 || events[0].Event.Topic != ".dead" || string(events[0].Event.Payload[:1]) != "\xff" {
			b.Errorf("%d copies", len(events))
		}
	})
}

// TRAPS, PoisonQueue: at shutdown it poisons healthy messages with "context canceled".
func TestMiddlewareShutdownPoisonsNothing(t *testing.T) {
	t.Parallel()
	OnEachStore(t, func(b *Bench) {
		watch, told := Watch()
		began := make(chan struct{})
		b.Run(func(m *message.Message) ([]*message.Message, error) {
			close(began)
			<-m.Context().Done()
			return nil, fmt.Errorf("query: %w", m.Context().Err())
		}, watch, letters(b), retries(twice))
		b.Send(order("m"))
		<-began
		go func() { _ = b.Router.Close() }()
		if err := b.Next(told); !errors.Is(err, context.Canceled) {
			b.Errorf("error %v", err)
		}
		if _, ok := b.Row("m"); ok || len(b.Letters()) != 0 {
			b.Errorf("%d letters", len(b.Letters()))
		}
	})
}

// The letter is written under a context of its own: a handler that used up its time
// does not take the dead letter along. Its class is that of a timeout.
func TestMiddlewareAfterATimeout(t *testing.T) {
	t.Parallel()
	OnEachStore(t, func(b *Bench) {
		h := letters(b)(Make(retry.Middleware(retry.Policy{MaxAttempts: 1}, retry.MiddlewareOptions{Timeout: time.Millisecond}))(func(m *message.Message) ([]*message.Message, error) {
			<-m.Context().Done()
			return nil, errBad
		}))
		if _, err := h(order("m")); err != nil || len(b.Letters()) != 1 {
			b.Errorf("%v, %d letters", err, len(b.Letters()))
		}
	})
}

// An outage: nothing is dead-lettered, no attempt is recorded, the message stays; then
// all goes on by itself. TRAPS, CircuitBreaker: under PoisonQueue it dead-letters the
// backlog.
func TestMiddlewareOutage(t *testing.T) {
	t.Parallel()
	OnEachStore(t, func(b *Bench) {
		var runs atomic.Int64
		watch, told := Watch()
		b.Run(func(m *message.Message) ([]*message.Message, error) {
			if runs.Add(1) == 1 {
				b.Store.Down(true)
				return nil, fmt.Errorf("insert: %w", io.ErrUnexpectedEOF)
			}
			return nil, Insert(m)
		}, watch, letters(b), retries(twice), applied(b, inbox.MiddlewareOptions{}))
		b.Send(order("m"))
		for range 3 {
			if err := b.Next(told); !headrace.IsHeld(err) {
				b.Errorf("not held: %v", err)
			}
		}
		b.Store.Down(false)
		b.Eventually("it is applied", func() bool { return b.Effects("m") == 1 })
		if runs.Load() != 2 || len(b.Letters()) != 0 {
			b.Errorf("%d runs, %d letters", runs.Load(), len(b.Letters()))
		}
	})
}

// Where the dead letter cannot be written, the message stays.
func TestMiddlewareLetterCannotBeWritten(t *testing.T) {
	t.Parallel()
	OnEachStore(t, func(b *Bench) {
		h := letters(b)(fails)
		b.Store.Down(true)
		if _, err := h(order("m")); !headrace.IsHeld(err) || !errors.Is(err, errBad) {
			b.Errorf("error %v", err)
		}
		b.Store.Down(false)
		b.Store.Swallow(1) // its COMMIT happens and is not answered
		if _, err := h(order("m")); err != nil || len(b.Letters()) != 1 {
			b.Errorf("%v, %d letters", err, len(b.Letters()))
		}
		b.Store.Refuse(1, txn.ErrCommitUnknown)
		if _, err := h(order("n")); err != nil || len(b.Letters()) != 2 {
			b.Errorf("%v, %d letters", err, len(b.Letters()))
		}
	})
}

// What is held is passed on, also where the letter could be written.
func TestMiddlewarePassesOnWhatIsHeld(t *testing.T) {
	t.Parallel()
	b := OnSQLite(t)
	held := &headrace.HeldError{Err: errBad}
	_, err := letters(b)(func(*message.Message) ([]*message.Message, error) { return nil, held })(order("m"))
	if !errors.Is(err, held) || len(b.Letters()) != 0 {
		t.Errorf("%v, %d letters", err, len(b.Letters()))
	}
}
