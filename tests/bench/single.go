package main

import (
	"context"
	"fmt"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
)

func singlePart() []benchmark {
	const says = "headrace: a handler with one statement and one event, %d in flight"
	return []benchmark{
		{part: "single", name: "single", says: fmt.Sprintf(says, 64), run: runSingle(64), against: []string{"byhand", "byhand_64"}},
		{part: "single", name: "single_256", says: fmt.Sprintf(says, 256), run: runSingle(256), against: []string{"byhand", "byhand_64"}},
		{part: "single", name: "single_1", says: fmt.Sprintf(says, 1), run: runSingle(1), against: []string{"byhand_1"}},
	}
}

func runSingle(inFlight int) func(context.Context, *lab, amount) (Figure, error) {
	return func(ctx context.Context, l *lab, a amount) (Figure, error) {
		invoice := l.query("invoice")
		handle := func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[order]) error {
			if _, err := tx.ExecContext(ctx, invoice, m.Body.ID, m.Body.Currency, m.Body.TotalCents); err != nil {
				return err
			}
			return tx.Publish(headrace.Event{Topic: invoicesTopic, Value: invoicedFor(&m.Body)})
		}
		return l.applied(ctx, a, inFlight, func(c *consumer.Consumer) {
			consumer.Handle(c, ordersTopic, handle)
		})
	}
}

// applied measures a handler that leaves one effect and one event a message. There
// is no sink, so that no relay runs.
func (l *lab) applied(ctx context.Context, a amount, inFlight int, register func(*consumer.Consumer)) (figure Figure, err error) {
	src := newSource(inFlight, newMessage)
	err = l.consume(ctx, consumption{
		src: src, register: register,
		drive: func(ctx context.Context, abandoned <-chan struct{}) (err error) {
			figure, err = l.load(ctx, src, a, abandoned)
			return err
		},
	})
	if err != nil {
		return Figure{}, err
	}
	return figure, l.verify(ctx, "count_headrace", src.delivered())
}
