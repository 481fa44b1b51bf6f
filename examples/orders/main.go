package main

import (
	"context"
	"os"

	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/examples/orders/billing"
	"github.com/headrace/headrace/tests/endtoend/story"
)

func main() { os.Exit(story.Main(bill, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// bill writes invoices until ctx ends. Your program makes the store, the source and the sink
// itself; here the story of the example does, and makes some handlers fail.
func bill(ctx context.Context, w story.World) error {
	c, err := billing.New(w.Store, consumer.Config{
		Build:       "v1.0.0", // names this program in dead letters, on the pages and in alerts
		Rehearsable: true,     // its handler calls no other system
		Source:      w.Source, Sink: w.Sink,
		Logger: w.Logger, MeterProvider: w.Meters, MaxInFlight: w.MaxInFlight,
	}, w.Orders, w.Faulty(billing.WriteInvoice(w.Confirmations)))
	if err != nil {
		return err
	}
	return c.Run(ctx)
}
