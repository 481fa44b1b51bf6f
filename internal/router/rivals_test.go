package router

import (
	"context"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"
)

type keys struct{}

func (keys) IsDuplicate(context.Context, string) (bool, error) { return false, nil }

func quiet(*message.Message) ([]*message.Message, error) { return nil, nil }

// Each is known as the value that a program hands on, and by the function that it returns,
// also where a function of the program's own hides the value.
func TestKnown(t *testing.T) {
	t.Parallel()
	poison, err := middleware.PoisonQueue(nil, "poison")
	if err != nil {
		t.Fatal(err)
	}
	dedup := &middleware.Deduplicator{KeyFactory: middleware.NewMessageHasherSHA256(64), Repository: keys{}}
	for name, m := range map[string]message.HandlerMiddleware{
		"CircuitBreaker": middleware.CircuitBreaker{}.Middleware,
		"Deduplicator":   dedup.Middleware,
		"Duplicator":     middleware.Duplicator,
		"IgnoreErrors":   middleware.NewIgnoreErrors(nil).Middleware,
		"InstantAck":     middleware.InstantAck,
		"PoisonQueue":    poison,
		"Retry":          middleware.Retry{}.Middleware,
	} {
		hidden := func(next message.HandlerFunc) message.HandlerFunc { return m(next) }
		for where, f := range map[string]any{"the middleware": m, "what it returns": m(quiet), "what a function around it returns": hidden(quiet)} {
			if got, _ := rivalOf(f); got != name {
				t.Errorf("%s: %s is known as %q", name, where, got)
			}
		}
	}
	if got, _ := rivalOf((&middleware.Retry{}).Middleware); got != "Retry" {
		t.Errorf("the method of a pointer is known as %q", got)
	}
	inlined := func(next message.HandlerFunc) message.HandlerFunc { return middleware.InstantAck(next) }
	if got, _ := rivalOf(inlined(quiet)); got != "InstantAck" {
		t.Errorf("within another function, which the compiler merges with it: %q", got)
	}
	for _, m := range []message.HandlerMiddleware{middleware.Recoverer, middleware.CorrelationID, middleware.RandomFail(0), middleware.Timeout(1)} {
		if one, other := checkRival(m), checkRival(m(quiet)); one != nil || other != nil {
			t.Errorf("a harmless one is refused: %v, %v", one, other)
		}
	}
}
