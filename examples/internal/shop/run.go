package shop

import (
	"context"
	"io"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/examples/billing"
	"github.com/headrace/headrace/store/sqlite"
)

// Broker is where orders come from and events go.
type Broker struct {
	Source message.Subscriber
	Sink   message.Publisher
	// Paid and Created are the topics of orders and of the events of their invoices.
	Paid, Created string
}

// Run sends all orders to the broker, runs the consumer of package billing until they are
// done or ctx ends, and reports. file is as for File.
func (b Broker) Run(ctx context.Context, stdout io.Writer, file string) error {
	file, err := File(file)
	if err != nil {
		return err
	}
	st, err := sqlite.Open(ctx, file, sqlite.Options{Migrate: true})
	if err != nil {
		return err
	}
	defer func() { _ = st.Close() }()
	if _, err := st.DB().ExecContext(ctx, Tables); err != nil {
		return err
	}
	c, err := billing.New(st, consumer.Config{
		Source: b.Source, Sink: b.Sink,
		DeadLetterTopic: func(string) string { return "" }, // they are in the database; no copies
	}, b.Paid, b.Created)
	if err != nil {
		return err
	}
	if err := b.Sink.Publish(b.Paid, Orders()...); err != nil {
		return err
	}
	if err := c.Run(UntilDone(ctx, c, st)); err != nil {
		return err
	}
	return Report(ctx, stdout, file, c, st)
}
