package regress

import (
	"context"
	"slices"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
)

// way is a path by which a message comes to its handler's transaction.
type way struct {
	name string
	// handle registers f for topic.
	handle func(c *consumer.Consumer, f consumer.Func[body])
	// single says that each message has a transaction of its own.
	single bool
}

var (
	inBatch = way{name: "in a batch", handle: func(c *consumer.Consumer, f consumer.Func[body]) {
		consumer.Handle(c, topic, f)
	}}
	alone = way{name: "alone", single: true, handle: func(c *consumer.Consumer, f consumer.Func[body]) {
		consumer.Handle(c, topic, f, consumer.Alone())
	}}
	fromBacklog = way{name: "from the backlog", handle: func(c *consumer.Consumer, f consumer.Func[body]) {
		consumer.Handle(c, topic, f, consumer.Intake())
	}}
	// leased runs f as the effects of work that is done at once.
	leased = way{name: "leased", handle: func(c *consumer.Consumer, f consumer.Func[body]) {
		consumer.HandleLeased(c, topic, func(_ context.Context, m *headrace.Message[body]) (headrace.Effects, error) {
			return func(ctx context.Context, tx *headrace.Tx) error { return f(ctx, tx, m) }, nil
		})
	}}
	everyWay = []way{inBatch, alone, fromBacklog, leased}
)

// onEachWay runs f for each of ways, on the databases of on.
func onEachWay(t *testing.T, on func(*testing.T, func(*fixture)), ways []way, f func(*fixture, way)) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			on(t, func(fx *fixture) { f(fx, w) })
		})
	}
}

// fewer are the first of ways in the short form, and all of them in the whole one.
func fewer(ways []way) []way {
	if testing.Short() {
		return ways[:2]
	}
	return ways
}

// inTurn are all of ways, and in the short form the nth of them, around again: each case of a test has one way, and
// each way some of the cases.
func inTurn(nth int, ways []way) []way {
	if testing.Short() {
		nth %= len(ways)
		return ways[nth : nth+1]
	}
	return ways
}

// first is a message whose handler waits, so that the next batch has all messages that
// came meanwhile.
const first = "first"

// together registers handler for topic, starts c, and delivers n messages, m0 and so on, in
// such a way that one batch, or one shard of the backlog, has all of them. The message
// first comes before them.
func together(f *fixture, c *consumer.Consumer, w way, n int, handler consumer.Func[body]) (*process, []*message.Message) {
	f.Helper()
	inside, others := make(chan struct{}), make(chan struct{})
	var seen runs
	w.handle(c, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
		if m.ID != first {
			return handler(ctx, tx, m)
		}
		if seen.next(first) == 1 {
			close(inside)
		}
		select {
		case <-others:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	p := f.start(c)
	all := []*message.Message{f.deliverOrdered(first, 0, first)}
	f.await("the first message runs", inside)
	for i, id := range series("m", n) {
		all = append(all, f.deliverOrdered(id, i, first))
	}
	close(others)
	return p, all
}

// neighbours are the messages of together without the culprit.
func neighbours(n int, culprit string) []string {
	return slices.DeleteFunc(series("m", n), func(id string) bool { return id == culprit })
}
