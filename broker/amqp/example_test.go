package amqp_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/broker/amqp"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/sqlite"
)

// A consumer of a quorum queue, and the outbox published to an exchange. (examples/rabbitmq
// runs such a thing.)
func Example() {
	server := amqp.Server{URL: "amqp://guest:guest@localhost:5672/", Name: "billing"}
	source, err := amqp.NewSource(amqp.SourceOptions{
		Server: server,
		// The queue is made where it is missing; otherwise leave Declare out, and say what
		// the queue has: DeliveryLimit: 20.
		Topology: amqp.Topology{Declare: amqp.Quorum, DeliveryLimit: 50, DeadLetterExchange: "given-up"},
		KeptFor:  7 * 24 * time.Hour,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer source.Close()
	sink, err := amqp.NewSink(amqp.SinkOptions{Server: server, Topology: amqp.Topology{Exchange: "events"}})
	if err != nil {
		log.Fatal(err)
	}
	defer sink.Close()

	ctx := context.Background()
	st, err := sqlite.Open(ctx, "billing.db", sqlite.Options{Migrate: true})
	if err != nil {
		log.Fatal(err)
	}
	defer st.Close()
	c, err := consumer.New("billing", st, consumer.Config{
		Source: source, Sink: sink,
		// Many senders set no message-id.
		Key: inbox.First(inbox.MessageID(), inbox.JSON("order_id")),
	})
	if err != nil {
		log.Fatal(err)
	}
	type order struct {
		ID string `json:"order_id"`
	}
	consumer.Handle(c, "orders.paid", func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[order]) error {
		return tx.Publish(headrace.Event{Topic: "invoices.created", Value: m.Body})
	})
	fmt.Println(c.Run(ctx))
}

// What cannot be is refused by the option's name, before anything is connected.
func ExampleNewSink() {
	_, err := amqp.NewSink(amqp.SinkOptions{
		Server: amqp.Server{URL: "amqp://localhost/"}, UnsafeUnroutable: true,
	})
	fmt.Println(err)
	// Output: amqp: option SinkOptions.UnsafeUnroutable: without an Exchange a topic is one queue, and a missing queue is a mistake
}
