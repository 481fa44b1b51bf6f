package inbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	. "github.com/headrace/headrace/internal/routertest"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/txn"
)

var errBoom = errors.New("boom")

// quick pauses hardly at all.
var quick = inbox.MiddlewareOptions{NackPause: time.Millisecond}

func alone(b *Bench, o inbox.MiddlewareOptions) message.HandlerMiddleware {
	return Make(inbox.Middleware(b.Store, Consumer, o))
}

// insert is a handler that has one effect and returns nothing.
func insert(m *message.Message) ([]*message.Message, error) { return nil, Insert(m) }

// DESIGN §2: effect, record and outgoing messages are one commit; a redelivery is
// acknowledged without a run; the Router itself publishes nothing.
func TestMiddlewareAppliesOnce(t *testing.T) {
	t.Parallel()
	OnEachStore(t, func(b *Bench) {
		var runs atomic.Int64
		watch, told := Watch()
		b.Run(func(m *message.Message) ([]*message.Message, error) {
			runs.Add(1)
			if err := Insert(m); err != nil {
				return nil, err
			}
			out := message.NewMessage("out of "+m.UUID, nil)
			out.Metadata.Set("k", "v")
			tx, _ := headrace.TxFrom(m.Context())
			return []*message.Message{out}, tx.Publish(headrace.Event{Topic: "other", Payload: []byte("p")})
		}, watch, alone(b, quick))
		traced := Message("m", "{}")
		traced.Metadata.Set("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
		for _, m := range []*message.Message{traced, Message("m", "{}"), Message("m", " {} ")} {
			b.Send(m)
			if err := b.Next(told); err != nil {
				b.Error(err)
			}
		}
		if runs.Load() != 1 || b.Effects("m") != 1 {
			b.Errorf("%d runs, %d effects", runs.Load(), b.Effects("m"))
		}
		events := b.Events()
		if len(events) != 2 {
			b.Fatalf("%d events", len(events))
		}
		for _, row := range events {
			if row.Event.Trace.Parent == "" {
				b.Error("the trace is lost")
			}
			if e := row.Event; e.Topic == Replies && (e.ID != "out of m" || e.Metadata["k"] != "v" || len(e.Payload) != 0) {
				b.Errorf("%+v", e)
			}
		}
		if row, ok := b.Row("m"); !ok || row.State != inbox.Done || row.Scope != Scope {
			b.Errorf("row %+v", row)
		}
	})
}

// Fault: three deliveries of one message at once.
func TestMiddlewareThreeAtOnce(t *testing.T) {
	t.Parallel()
	OnEachStore(t, func(b *Bench) {
		var runs atomic.Int64
		h := alone(b, inbox.MiddlewareOptions{Handler: Handler, NackPause: 1})(func(m *message.Message) ([]*message.Message, error) {
			runs.Add(1)
			return nil, Insert(m)
		})
		told := make(chan error)
		for range 3 {
			go func() { _, err := h(Message("m", "{}")); told <- err }()
		}
		for range 3 {
			if err := b.Next(told); err != nil {
				b.Error(err)
			}
		}
		if runs.Load() != 1 || b.Effects("m") != 1 {
			b.Errorf("%d runs, %d effects", runs.Load(), b.Effects("m"))
		}
	})
}

// A handler that fails leaves nothing, and the message comes again; so does one whose
// process died before the acknowledgement.
func TestMiddlewareFailureRollsBack(t *testing.T) {
	t.Parallel()
	OnEachStore(t, func(b *Bench) {
		var runs atomic.Int64
		watch, told := Watch()
		crash := func(next message.HandlerFunc) message.HandlerFunc { // after the commit, before the ack
			return func(m *message.Message) ([]*message.Message, error) {
				out, err := next(m)
				if err == nil && runs.Load() == 4 {
					runs.Add(1)
					return nil, errors.New("no acknowledgement")
				}
				return out, err
			}
		}
		b.Run(func(m *message.Message) ([]*message.Message, error) {
			m.Payload[0] = 'x' // the next run does not see it
			if err := Insert(m); err != nil {
				return nil, err
			}
			switch runs.Add(1) {
			case 1:
				return nil, errBoom
			case 2:
				panic("boom")
			case 3:
				runtime.Goexit()
			}
			return nil, nil
		}, watch, crash, alone(b, quick))
		b.Send(Message("m", "{}"))
		var panicked *retry.PanicError
		if err := b.Next(told); !errors.Is(err, errBoom) {
			b.Errorf("first: %v", err)
		}
		if err := b.Next(told); !errors.As(err, &panicked) || panicked.Value != "boom" {
			b.Errorf("second: %v", err)
		}
		if err := b.Next(told); err == nil || !strings.Contains(err.Error(), "no acknowledgement") {
			b.Errorf("fourth: %v", err) // Goexit told the Router nothing
		}
		if err := b.Next(told); err != nil {
			b.Errorf("fifth: %v", err)
		}
		if b.Effects("m") != 1 || runs.Load() != 5 {
			b.Errorf("%d effects, %d runs", b.Effects("m"), runs.Load())
		}
	})
}

func TestMiddlewareConflictAndBadKey(t *testing.T) {
	t.Parallel()
	OnEachStore(t, func(b *Bench) {
		h := alone(b, inbox.MiddlewareOptions{Handler: Handler, NackPause: 1, Key: inbox.Header("id")})(insert)
		send := func(id, key string) error {
			m := Message(id, "body of "+id)
			m.Metadata.Set("id", key)
			_, err := h(m)
			return err
		}
		var c *inbox.ConflictError
		var k *inbox.KeyError
		if err := send("1", "k"); err != nil {
			b.Fatal(err)
		}
		if err := send("2", "k"); !errors.As(err, &c) || !retry.IsPermanent(err) {
			b.Errorf("%v", err)
		}
		if err := send("3", ""); !errors.As(err, &k) || !retry.IsPermanent(err) {
			b.Errorf("%v", err)
		}
		if c == nil || k == nil || !errors.Is(c, inbox.ErrConflict) || !errors.Is(k, inbox.ErrAbsent) || c.ID.Key != "k" || c.First == c.Fingerprint {
			b.Errorf("%+v, %+v", c, k)
		}
		if b.Effects("1") != 1 || b.Effects("2")+b.Effects("3") != 0 {
			b.Error("the effects are wrong")
		}
	})
}

// ErrStale: what was written is rolled back, and the message is done.
func TestMiddlewareStale(t *testing.T) {
	t.Parallel()
	OnEachStore(t, func(b *Bench) {
		watch, told := Watch()
		b.Run(func(m *message.Message) ([]*message.Message, error) {
			return nil, errors.Join(Insert(m), fmt.Errorf("version 1: %w", inbox.ErrStale))
		}, watch, alone(b, quick))
		b.Send(Message("m", "{}"))
		if err := b.Next(told); err != nil {
			b.Error(err)
		}
		if row, _ := b.Row("m"); row.State != inbox.Done || !row.Stale || b.Effects("m") != 0 {
			b.Errorf("row %+v, %d effects", row, b.Effects("m"))
		}
	})
}

// COMMIT: after an unknown outcome the message is claimed again; what had committed is
// acknowledged, what had not is applied, and either way once.
func TestMiddlewareUnknownCommit(t *testing.T) {
	t.Parallel()
	for _, happened := range []bool{true, false} {
		t.Run(fmt.Sprint("happened=", happened), func(t *testing.T) {
			OnEachStore(t, func(b *Bench) {
				watch, told := Watch()
				b.Run(insert, watch, alone(b, quick))
				if happened {
					b.Store.Swallow(1)
				} else {
					b.Store.Refuse(1, fmt.Errorf("%w: %w", txn.ErrCommitUnknown, io.ErrUnexpectedEOF))
				}
				b.Send(Message("m", "{}"))
				if err := b.Next(told); err != nil {
					b.Error(err)
				}
				if b.Effects("m") != 1 {
					b.Errorf("%d effects", b.Effects("m"))
				}
			})
		})
	}
}

// An outage is held: no error of the message's, and it goes on by itself.
func TestMiddlewareOutage(t *testing.T) {
	t.Parallel()
	OnEachStore(t, func(b *Bench) {
		var runs atomic.Int64
		watch, told := Watch()
		b.Run(func(m *message.Message) ([]*message.Message, error) {
			if runs.Add(1) == 1 { // lost in the middle of the handler
				b.Store.Down(true)
				return nil, fmt.Errorf("insert: %w", io.ErrUnexpectedEOF)
			}
			return nil, Insert(m)
		}, watch, alone(b, quick))
		b.Send(Message("m", "{}"))
		for range 3 {
			if err := b.Next(told); !headrace.IsHeld(err) {
				b.Errorf("not held: %v", err)
			}
		}
		b.Store.Down(false)
		b.Eventually("it is applied", func() bool { return b.Effects("m") == 1 })
		if runs.Load() != 2 {
			b.Errorf("%d runs", runs.Load())
		}
	})
}

// A connection that is lost while the store answers is the handler's, after reruns.
func TestMiddlewareLostConnectionWithAHealthyStore(t *testing.T) {
	t.Parallel()
	OnEachStore(t, func(b *Bench) {
		var runs atomic.Int64
		watch, told := Watch()
		b.Run(func(*message.Message) ([]*message.Message, error) {
			runs.Add(1)
			return nil, io.ErrUnexpectedEOF
		}, watch, alone(b, quick))
		b.Send(Message("m", "{}"))
		if err := b.Next(told); headrace.IsHeld(err) || !errors.Is(err, io.ErrUnexpectedEOF) {
			b.Errorf("error %v", err)
		}
		if n := runs.Load(); n < 3 || n%3 != 0 && n > 6 {
			b.Errorf("%d runs", n)
		}
	})
}

// A handler that ended the transaction of its claim is never acknowledged.
func TestMiddlewareSwitchedTransaction(t *testing.T) {
	t.Parallel()
	b := OnSQLite(t)
	h := alone(b, inbox.MiddlewareOptions{Handler: Handler, NackPause: time.Millisecond})(func(m *message.Message) ([]*message.Message, error) {
		tx, _ := headrace.TxFrom(m.Context())
		own, err := tx.SQL()
		if err != nil {
			return nil, err
		}
		return nil, own.Rollback()
	})
	if _, err := h(Message("m", "{}")); !errors.Is(err, inbox.ErrSwitched) || !headrace.IsHeld(err) {
		t.Errorf("error %v", err)
	}
}

// TRAPS, Router.Close: it cancels in-flight contexts at once. The handler goes on,
// and its message is acknowledged.
func TestMiddlewareShutdownInTheMiddle(t *testing.T) {
	t.Parallel()
	OnEachStore(t, func(b *Bench) {
		watch, told := Watch()
		began := make(chan struct{})
		var subscription context.Context
		b.Run(func(m *message.Message) ([]*message.Message, error) {
			close(began)
			<-subscription.Done()
			return nil, errors.Join(m.Context().Err(), Insert(m))
		}, watch, func(next message.HandlerFunc) message.HandlerFunc {
			return func(m *message.Message) ([]*message.Message, error) {
				subscription = m.Context()
				return next(m)
			}
		}, alone(b, quick))
		b.Send(Message("m", "{}"))
		<-began
		closed := make(chan error)
		go func() { closed <- b.Router.Close() }()
		if err := b.Next(told); err != nil {
			b.Error(err)
		}
		if err := b.Next(closed); err != nil {
			b.Error(err)
		}
		if b.Effects("m") != 1 {
			b.Errorf("%d effects", b.Effects("m"))
		}
	})
}

// The handler's deadline is an attempt's end, not an outage.
func TestMiddlewareTimeout(t *testing.T) {
	t.Parallel()
	OnEachStore(t, func(b *Bench) {
		var runs atomic.Int64
		h := alone(b, inbox.MiddlewareOptions{Handler: Handler, NackPause: 1, Timeout: 50 * time.Millisecond})(func(m *message.Message) ([]*message.Message, error) {
			runs.Add(1)
			<-m.Context().Done()
			return nil, io.ErrUnexpectedEOF
		})
		if _, err := h(Message("m", "{}")); retry.Classify(err) != retry.Timeout || headrace.IsHeld(err) || runs.Load() != 1 {
			b.Errorf("error %v after %d runs", err, runs.Load())
		}
	})
}

// A handler without a publish topic cannot return messages: they would be lost.
func TestMiddlewareReturnsNothingWithoutATopic(t *testing.T) {
	t.Parallel()
	b := OnSQLite(t)
	h := alone(b, inbox.MiddlewareOptions{Handler: Handler, NackPause: 1})(func(m *message.Message) ([]*message.Message, error) {
		return []*message.Message{m}, Insert(m)
	})
	if _, err := h(Message("m", "{}")); !errors.Is(err, message.ErrOutputInNoPublisherHandler) || b.Effects("m") != 0 {
		t.Errorf("error %v", err)
	}
}

func TestMiddlewareOptionsAreChecked(t *testing.T) {
	t.Parallel()
	b := OnSQLite(t)
	for want, make := range map[string]func() (message.HandlerMiddleware, error){
		"database": func() (message.HandlerMiddleware, error) { return inbox.Middleware(nil, "c", quick) },
		"name":     func() (message.HandlerMiddleware, error) { return inbox.Middleware(b.Store, "", quick) },
		"slash":    func() (message.HandlerMiddleware, error) { return inbox.Middleware(b.Store, "a/b", quick) },
		"Timeout": func() (message.HandlerMiddleware, error) {
			return inbox.Middleware(b.Store, "c", inbox.MiddlewareOptions{Timeout: -1})
		},
		"NackPause": func() (message.HandlerMiddleware, error) {
			return inbox.Middleware(b.Store, "c", inbox.MiddlewareOptions{NackPause: -1})
		},
	} {
		if _, err := make(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	h := alone(b, quick)(insert)
	if _, err := h(Message("m", "{}")); !headrace.IsHeld(err) || !strings.Contains(err.Error(), "option Handler") {
		t.Errorf("without a Router: %v", err)
	}
}
