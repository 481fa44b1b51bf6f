package main

import (
	"context"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/consumer"
)

// application is a handler that leaves one effect and one event a message. There is
// no sink, so that no relay runs.
type application struct {
	inFlight  int
	first     uint64                                // the number of the first message
	build     func(n uint64) *message.Message       // nil for newMessage
	topics    []string                              // which have the messages in turn; none for a single one
	open      func(context.Context) (opened, error) // nil for the lab's database with lib/pq
	configure func(*consumer.Config)                // nil leaves it
	register  func(*consumer.Consumer)
	// untilApplied stops the clock when all messages are applied, and not when they are
	// acknowledged: what is retried, or taken in, is acknowledged before.
	untilApplied bool
	// window bounds the messages that are acknowledged and not applied yet; 0 for none.
	window int
	// mayFail says that runs of the handler may fail.
	mayFail bool
}

// applied measures an application in the lab's database, and proves what it left.
func (l *lab) applied(ctx context.Context, a amount, o application) (Figure, error) {
	figure, n, err := l.apply(ctx, a, o)
	if err != nil {
		return Figure{}, err
	}
	return figure, l.verify(ctx, "count_headrace", n)
}

// apply measures an application, and returns how many messages were delivered.
func (l *lab) apply(ctx context.Context, a amount, o application) (figure Figure, delivered int, err error) {
	build := o.build
	if build == nil {
		build = newMessage
	}
	src := newSource(o.inFlight, build, o.topics...)
	src.next.Store(o.first)
	var done applied
	err = l.consume(ctx, consumption{
		src: src, configure: o.configure, open: o.open, mayFail: o.mayFail,
		register: func(c *consumer.Consumer) {
			o.register(c)
			if o.untilApplied {
				done = appliedBy(c)
			}
		},
		drive: func(ctx context.Context, abandoned <-chan struct{}) (err error) {
			if o.window > 0 {
				defer src.within(o.window, done)()
			}
			figure, err = l.loadAll(ctx, src, a, done, abandoned)
			return err
		},
	})
	return figure, src.delivered() - int(o.first), err
}

// appliedBy is what a consumer says that it has applied.
func appliedBy(c *consumer.Consumer) applied {
	return func() int {
		s := c.Stats()
		return int(s.Applied + s.BacklogApplied)
	}
}
