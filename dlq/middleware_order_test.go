package dlq_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	. "github.com/headrace/headrace/internal/routertest"
)

// stages are the middlewares by their place: 0 is the outermost in the right order.
func stages(b *Bench) []message.HandlerMiddleware {
	return []message.HandlerMiddleware{letters(b), retries(twice), applied(b, inbox.MiddlewareOptions{})}
}

// orders returns every sequence of one to three of the three places, with repetitions.
func orders() (all [][]int) {
	last := [][]int{nil}
	for range 3 {
		var next [][]int
		for _, o := range last {
			for place := range 3 {
				next = append(next, append(slices.Clone(o), place))
			}
		}
		all = append(all, next...)
		last = next
	}
	return all
}

// DESIGN §2, "the order of the pipeline": a wrong order is found at the first message,
// whichever it is. The handler never runs, nothing is retried, recorded or
// dead-lettered, and the error says the right order.
func TestEveryOrderOfTheMiddlewares(t *testing.T) {
	t.Parallel()
	OnEachStore(t, func(b *Bench) {
		for n, o := range orders() {
			runs := 0
			h := message.HandlerFunc(func(*message.Message) ([]*message.Message, error) { runs++; return nil, nil })
			for _, place := range slices.Backward(o) {
				h = stages(b)[place](h)
			}
			id := fmt.Sprint("m", n)
			_, err := h(order(id))
			right := slices.IsSorted(o) && len(slices.Compact(slices.Clone(o))) == len(o)
			_, recorded := b.Row(id)
			switch {
			case right && (err != nil || runs != 1):
				b.Errorf("%v is right: %v, %d runs", o, err, runs)
			case right:
			case !errors.Is(err, headrace.ErrOrder) || runs != 0 || recorded:
				b.Errorf("%v is wrong: %v, %d runs, recorded %t", o, err, runs, recorded)
			case !strings.Contains(err.Error(), "dlq.Middleware, retry.Middleware, inbox.Middleware, the handler") && !strings.Contains(err.Error(), "is there twice"):
				b.Errorf("%v: %v does not say the right order", o, err)
			}
		}
		if n := len(b.Letters()); n != 0 {
			b.Errorf("%d letters", n)
		}
	})
}

// In a Router, the message of a wrong order stays unacknowledged and is delivered
// again after the pause.
func TestAWrongOrderInARouter(t *testing.T) {
	t.Parallel()
	b := OnSQLite(t)
	watch, told := Watch()
	s := stages(b)
	b.Run(func(*message.Message) ([]*message.Message, error) {
		t.Error("the handler ran")
		return nil, nil
	}, watch, s[2], s[1], s[0])
	b.Send(order("m"))
	for range 3 {
		if err := b.Next(told); !errors.Is(err, headrace.ErrOrder) {
			t.Errorf("the Router was told %v", err)
		}
	}
}
