package main

import (
	"context"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/consumer"
)

// distinct is how many messages the duplicates are of: far more than are in flight,
// so that the database has to tell that they are known.
const distinct = 10_000

func duplicatesPart() []benchmark {
	const inFlight = 512
	return []benchmark{{
		part: "duplicates", name: "duplicates", against: []string{"byhand"},
		says: fmt.Sprintf("headrace: deliveries of %d messages that were applied before, %d in flight", distinct, inFlight),
		run:  runDuplicates(inFlight),
	}}
}

func runDuplicates(inFlight int) func(context.Context, *lab, amount) (Figure, error) {
	return func(ctx context.Context, l *lab, a amount) (figure Figure, err error) {
		src := newSource(inFlight, func(n uint64) *message.Message { return newMessage(n % distinct) })
		var duplicates int
		var c *consumer.Consumer
		err = l.consume(ctx, consumption{
			src: src,
			register: func(made *consumer.Consumer) {
				c = made
				l.invoices(c)
			},
			drive: func(ctx context.Context, abandoned <-chan struct{}) (err error) {
				var first histogram
				if _, err := src.feed(ctx, distinct, &first, abandoned); err != nil {
					return err
				}
				if figure, err = l.load(ctx, src, a, abandoned); err != nil {
					return err
				}
				duplicates = src.delivered() - distinct
				return nil
			},
		})
		if err != nil {
			return Figure{}, err
		}
		if n := c.Stats().Duplicates; n != int64(duplicates) {
			return Figure{}, fmt.Errorf("verify: %d duplicates were delivered, %d counted", duplicates, n)
		}
		return figure, l.verify(ctx, "count_headrace", distinct)
	}
}
