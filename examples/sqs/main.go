package main

import (
	"context"
	"os"

	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/examples/orders/billing"
	"github.com/headrace/headrace/tests/endtoend/services"
	"github.com/headrace/headrace/tests/endtoend/story"
)

func main() { os.Exit(story.OverBroker(broker, bill, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

var broker = story.Broker{Server: services.SQS, Connect: connect}

// bill is one worker: it writes invoices until ctx ends.
func bill(ctx context.Context, w story.World) error {
	c, err := billing.New(w.Store, consumer.Config{Source: w.Source, Sink: w.Sink, Logger: w.Logger},
		w.Orders, w.Faulty(billing.WriteInvoice(w.Confirmations)))
	if err != nil {
		return err
	}
	return c.Run(ctx)
}
