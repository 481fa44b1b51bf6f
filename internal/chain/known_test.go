package chain

import (
	"slices"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"
)

// Each is known as the value that a program hands on, and on the stack of what it calls.
func TestKnown(t *testing.T) {
	t.Parallel()
	poison, err := middleware.PoisonQueue(nil, "poison")
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]message.HandlerMiddleware{
		CircuitBreaker: middleware.CircuitBreaker{}.Middleware,
		Deduplicator:   (&middleware.Deduplicator{}).Middleware,
		Duplicator:     middleware.Duplicator,
		IgnoreErrors:   middleware.NewIgnoreErrors(nil).Middleware,
		InstantAck:     middleware.InstantAck,
		PoisonQueue:    poison,
		WatermillRetry: middleware.Retry{}.Middleware,
	} {
		if got := Known(m); got != name {
			t.Errorf("%s is known as %q", name, got)
		}
		if name == CircuitBreaker || name == Deduplicator {
			continue // they need settings to be called
		}
		if got := on(m); !slices.Contains(got, name) {
			t.Errorf("%s is not among the callers: %v", name, got)
		}
	}
	if got := on(func(next message.HandlerFunc) message.HandlerFunc { return middleware.InstantAck(next) }); !slices.Contains(got, InstantAck) {
		t.Errorf("within another function, which the compiler merges with it: %v", got)
	}
	for _, m := range []message.HandlerMiddleware{middleware.Recoverer, middleware.CorrelationID, middleware.RandomFail(0), middleware.Timeout(1)} {
		if got := Known(m) + Known(m(on2)); got != "" {
			t.Errorf("a harmless one is known as %q", got)
		}
	}
}

func on2(*message.Message) ([]*message.Message, error) { return nil, nil }

// on returns the callers that a handler within m has.
func on(m message.HandlerMiddleware) (names []string) {
	look := func() { names = append(names, Callers("")...) }
	_, _ = m(func(*message.Message) ([]*message.Message, error) { look(); return nil, nil })(message.NewMessage("1", nil))
	return names
}
