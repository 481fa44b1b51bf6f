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
		{part: "single", name: "single", says: fmt.Sprintf(says, 256), run: runSingle(256), against: []string{"byhand", "byhand_64"}, with: []string{"byhand"}},
		{part: "single", name: "single_64", says: fmt.Sprintf(says, 64), run: runSingle(64), against: []string{"byhand", "byhand_64"}, with: []string{"byhand_64"}},
		{part: "single", name: "single_1", says: fmt.Sprintf(says, 1), run: runSingle(1), against: []string{"byhand_1"}, with: []string{"byhand_1"}},
	}
}

func runSingle(inFlight int) func(context.Context, *lab, amount) (Figure, error) {
	return func(ctx context.Context, l *lab, a amount) (Figure, error) {
		return l.applied(ctx, a, inFlight, l.invoices)
	}
}

// invoices registers a handler with one statement and one event.
func (l *lab) invoices(c *consumer.Consumer) { handleSingly(c, l.query("invoice")) }

func handleSingly(c *consumer.Consumer, invoice string) {
	handle := func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[order]) error {
		if _, err := tx.ExecContext(ctx, invoice, m.Body.ID, m.Body.Currency, m.Body.TotalCents); err != nil {
			return err
		}
		return tx.Publish(headrace.Event{Topic: invoicesTopic, Value: invoicedFor(&m.Body)})
	}
	consumer.Handle(c, ordersTopic, handle)
}

// application is a handler that leaves one effect and one event a message. There is
// no sink, so that no relay runs.
type application struct {
	inFlight  int
	first     uint64 // the number of the first message
	configure func(*consumer.Config)
	open      func(context.Context) (opened, error)
	register  func(*consumer.Consumer)
}

// applied measures an application in the lab's database, and proves what it left.
func (l *lab) applied(ctx context.Context, a amount, inFlight int, register func(*consumer.Consumer)) (Figure, error) {
	figure, n, err := l.apply(ctx, a, application{inFlight: inFlight, register: register})
	if err != nil {
		return Figure{}, err
	}
	return figure, l.verify(ctx, "count_headrace", n)
}

// apply measures an application, and returns how many messages were delivered.
func (l *lab) apply(ctx context.Context, a amount, o application) (figure Figure, delivered int, err error) {
	src := newSource(o.inFlight, newMessage)
	src.next.Store(o.first)
	err = l.consume(ctx, consumption{
		src: src, register: o.register, configure: o.configure, open: o.open,
		drive: func(ctx context.Context, abandoned <-chan struct{}) (err error) {
			figure, err = l.load(ctx, src, a, abandoned)
			return err
		},
	})
	return figure, src.delivered() - int(o.first), err
}
