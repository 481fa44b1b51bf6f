package consumer_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/from"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/memsource"
	"github.com/headrace/headrace/store/sqlite"
)

// A handler takes what RabbitMQ's dead-letter exchange has put into another queue.
func ExampleIngest() {
	ctx, stop := context.WithCancel(context.Background())
	dir, _ := os.MkdirTemp("", "headrace")
	defer func() { _ = os.RemoveAll(dir) }()
	st, err := sqlite.Open(ctx, filepath.Join(dir, "orders.db"), sqlite.Options{Migrate: true})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	source := memsource.New() // in a program: amqp.NewSource
	c, err := consumer.New("billing", st, consumer.Config{Source: source, Key: inbox.JSON("id"), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		log.Fatal(err)
	}
	consumer.Handle(c, "orders.paid", func(context.Context, *headrace.Tx, *headrace.Message[Order]) error { return nil },
		consumer.Ingest("orders.paid.dead", source, from.RabbitMQ()))

	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	m := source.Deliver("orders.paid.dead", "", []byte(`{"id":"10492"}`), map[string]string{
		"x-first-death-queue": "orders.paid", "x-first-death-reason": "rejected",
	})
	<-m.Acked()
	letters, err := st.Letters().List(ctx, dlq.Filter{Class: dlq.Ingested}, 0, 10)
	for _, l := range letters {
		fmt.Println(l.Delivery.Key, l.Error)
	}
	stop()
	fmt.Println(err, <-ended)
	// Output:
	// 10492 rejected (given up by RabbitMQ, from orders.paid)
	// <nil> <nil>
}
