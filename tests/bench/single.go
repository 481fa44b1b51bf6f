package main

import (
	"context"
	"fmt"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
)

func singlePart(d driver) []benchmark {
	const says = "headrace: a handler with one statement and one event, %d in flight"
	part := []benchmark{
		{part: "single", name: "single", says: fmt.Sprintf(says, 256), run: runSingle(d, 256), against: []string{"byhand", "byhand_64"}, with: []string{"byhand"}},
		{part: "single", name: "single_64", says: fmt.Sprintf(says, 64), run: runSingle(d, 64), against: []string{"byhand", "byhand_64"}, with: []string{"byhand_64"}},
		{part: "single", name: "single_1", says: fmt.Sprintf(says, 1), run: runSingle(d, 1), against: []string{"byhand_1"}, with: []string{"byhand_1"}},
	}
	part = d.named(part)
	if d != libPQ { // and against the work by hand as most write it
		for i, other := range map[int]string{0: "byhand", 2: "byhand_1"} {
			part[i].against, part[i].with = append(part[i].against, other), append(part[i].with, other)
		}
	}
	return part
}

func runSingle(d driver, inFlight int) func(context.Context, *lab, amount) (Figure, error) {
	return func(ctx context.Context, l *lab, a amount) (Figure, error) {
		return l.applied(ctx, a, application{inFlight: inFlight, open: l.storeWith(d), register: l.invoices})
	}
}

// invoices registers a handler with one statement and one event.
func (l *lab) invoices(c *consumer.Consumer) { handleSingly(c, l.query("invoice")) }

func handleSingly(c *consumer.Consumer, invoice string) {
	consumer.Handle(c, ordersTopic, invoicing(invoice, 0))
}

// invoicing is a handler with one statement and one event, which waits before.
func invoicing(invoice string, wait time.Duration) consumer.Func[order] {
	return func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[order]) error {
		if wait > 0 {
			time.Sleep(wait)
		}
		if _, err := tx.ExecContext(ctx, invoice, m.Body.ID, m.Body.Currency, m.Body.TotalCents); err != nil {
			return err
		}
		return tx.Publish(headrace.Event{Topic: invoicesTopic, Value: invoicedFor(&m.Body)})
	}
}
