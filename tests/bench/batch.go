package main

import (
	"context"
	"fmt"

	"github.com/lib/pq"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
)

func batchPart() []benchmark {
	const inFlight = 512
	return []benchmark{{
		part: "batch", name: "batch", against: []string{"byhand", "byhand_64"}, with: []string{"byhand"},
		says: fmt.Sprintf("headrace: a batch handler with one statement and all events, %d in flight", inFlight),
		run:  runBatch(inFlight),
	}}
}

func runBatch(inFlight int) func(context.Context, *lab, amount) (Figure, error) {
	return func(ctx context.Context, l *lab, a amount) (Figure, error) {
		return l.applied(ctx, a, application{inFlight: inFlight, register: l.invoicesMany})
	}
}

// invoicesMany registers a batch handler with one statement and all events.
func (l *lab) invoicesMany(c *consumer.Consumer) {
	many := l.query("invoice_many")
	handle := func(ctx context.Context, tx *headrace.Tx, ms []*headrace.Message[order]) error {
		ids, currencies, totals := make([]string, len(ms)), make([]string, len(ms)), make([]int64, len(ms))
		events := make([]headrace.Event, len(ms))
		for i, m := range ms {
			ids[i], currencies[i], totals[i] = m.Body.ID, m.Body.Currency, m.Body.TotalCents
			events[i] = headrace.Event{Topic: invoicesTopic, Value: invoicedFor(&m.Body)}
		}
		if _, err := tx.ExecContext(ctx, many, pq.Array(ids), pq.Array(currencies), pq.Array(totals)); err != nil {
			return err
		}
		return tx.Publish(events...)
	}
	consumer.HandleBatch(c, ordersTopic, handle)
}
