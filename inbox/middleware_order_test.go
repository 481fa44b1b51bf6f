package inbox_test

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
	"github.com/headrace/headrace/inbox"
	. "github.com/headrace/headrace/internal/routertest"
)

type nowhere struct{}

func (nowhere) Publish(string, ...*message.Message) error { return nil }
func (nowhere) Close() error                              { return nil }

// seen is an ExpiringKeyRepository; the goroutine of Watermill's own never ends.
type seen struct{ keys sync.Map }

func (s *seen) IsDuplicate(_ context.Context, key string) (bool, error) {
	_, dup := s.keys.LoadOrStore(key, true)
	return dup, nil
}

func dedup() message.HandlerMiddleware {
	return (&middleware.Deduplicator{KeyFactory: middleware.NewMessageHasherSHA256(64), Repository: &seen{}}).Middleware
}

var errRival = errors.New("boom")

// Middlewares inside that would have a failed attempt committed: the first message finds
// them, next to us or not, nothing of it is kept, and it stays unacknowledged.
func TestRivalsInside(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]message.HandlerMiddleware{
		"Retry":        middleware.Retry{MaxRetries: 1}.Middleware,
		"PoisonQueue":  Make(middleware.PoisonQueue(nowhere{}, "poison")),
		"IgnoreErrors": middleware.NewIgnoreErrors([]error{errRival}).Middleware,
		"Deduplicator": dedup(),
		"Duplicator":   middleware.Duplicator,
	} {
		for where, ms := range map[string][]message.HandlerMiddleware{"next": {m}, "deeper": {middleware.CorrelationID, m}} {
			t.Run(name+" "+where, func(t *testing.T) {
				t.Parallel()
				b := OnSQLite(t)
				watch, told := Watch()
				runs := 0
				b.Run(func(m *message.Message) ([]*message.Message, error) {
					if err := Insert(m); err != nil {
						return nil, err
					}
					if runs++; runs == 1 {
						return nil, errRival
					}
					return nil, nil
				}, append([]message.HandlerMiddleware{watch, Make(inbox.Middleware(b.Store, Consumer, inbox.MiddlewareOptions{NackPause: time.Millisecond}))}, ms...)...)
				b.Send(Message("m", "{}"))
				for range 3 { // it is delivered again, so it was not acknowledged
					if err := b.Next(told); !errors.Is(err, headrace.ErrOrder) || !strings.Contains(err.Error(), name) {
						t.Errorf("the Router was told %v", err)
					}
				}
				if _, recorded := b.Row("m"); recorded || b.Effects("m") != 0 {
					t.Errorf("recorded %t, %d effects", recorded, b.Effects("m"))
				}
			})
		}
	}
}

// A Deduplicator outside would acknowledge the redelivery of what is given back: the
// message is neither handled nor settled while the Router runs.
func TestDeduplicatorOutside(t *testing.T) {
	t.Parallel()
	b := OnSQLite(t)
	watch, told := Watch()
	reached := make(chan *message.Message, 1)
	reaches := func(next message.HandlerFunc) message.HandlerFunc {
		return func(m *message.Message) ([]*message.Message, error) { reached <- m; return next(m) }
	}
	b.Run(func(*message.Message) ([]*message.Message, error) {
		t.Error("the handler ran")
		return nil, nil
	}, watch, dedup(), reaches, Make(inbox.Middleware(b.Store, Consumer, inbox.MiddlewareOptions{NackPause: time.Millisecond})))
	b.Send(Message("m", "{}"))
	m := <-reached
	select {
	case err := <-told:
		t.Errorf("the Router was told %v while it runs", err)
	case <-time.After(100 * time.Millisecond): // many pauses
	}
	if err := b.Router.Close(); err != nil {
		t.Fatal(err)
	}
	if err := b.Next(told); !errors.Is(err, headrace.ErrOrder) || !strings.Contains(err.Error(), "Deduplicator") {
		t.Errorf("the Router was told %v", err)
	}
	<-m.Nacked()
}

// Behind InstantAck messages are handled, since the broker has forgotten them, and the
// Router is told; inside, and outside of a harmless one, nothing is wrong.
func TestInstantAckAndTheHarmless(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		outside, inside message.HandlerMiddleware
		wrong           bool
	}{
		"outside":       {outside: middleware.InstantAck, inside: middleware.CorrelationID, wrong: true},
		"inside":        {outside: middleware.Recoverer, inside: middleware.InstantAck},
		"retry outside": {outside: middleware.Retry{MaxRetries: 1}.Middleware, inside: middleware.Recoverer},
		"poison outside": {outside: Make(middleware.PoisonQueue(nowhere{}, "poison")),
			inside: middleware.Timeout(time.Minute)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := OnSQLite(t)
			watch, told := Watch()
			b.Run(func(m *message.Message) ([]*message.Message, error) { return nil, Insert(m) },
				watch, c.outside, Make(inbox.Middleware(b.Store, Consumer, inbox.MiddlewareOptions{NackPause: time.Millisecond})), c.inside)
			b.Send(Message("m", "{}"))
			if err := b.Next(told); errors.Is(err, headrace.ErrOrder) != c.wrong || !c.wrong && err != nil {
				t.Errorf("the Router was told %v", err)
			}
			if b.Effects("m") != 1 {
				t.Errorf("%d effects", b.Effects("m"))
			}
		})
	}
}
