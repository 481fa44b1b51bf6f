package sqs_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/broker/sqs"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/store/sqlite"
)

// A consumer that takes orders from a FIFO queue, and publishes to another. It is shown
// without output, because it takes a server: examples/sqs is a whole program.
func Example() {
	ctx := context.Background()
	client := newClient(os.Getenv("HEADRACE_TEST_SQS")) // on AWS: sqs.NewFromConfig(what config.LoadDefaultConfig returns)
	queue := func(topic string) string { return topic + ".fifo" }

	source, err := sqs.NewSource(sqs.SourceOptions{Client: client, Queue: queue})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = source.Close() }()
	sink, err := sqs.NewSink(sqs.SinkOptions{Client: client, Queue: queue})
	if err != nil {
		log.Fatal(err)
	}
	st, err := sqlite.Open(ctx, "orders.db", sqlite.Options{Migrate: true})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = st.Close() }()

	c, err := consumer.New("billing", st, consumer.Config{Source: source, Sink: sink})
	if err != nil {
		log.Fatal(err)
	}
	type order struct{ ID, Customer string }
	consumer.Handle(c, "orders", func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[order]) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO invoices (id) VALUES ($1)", m.Body.ID); err != nil {
			return err
		}
		log.Printf("received %d times", sqs.FactsFrom(ctx).ReceiveCount)
		return tx.Publish(headrace.Event{Topic: "invoices", OrderKey: m.Body.Customer, Value: m.Body})
	})
	if err := c.Run(ctx); err != nil {
		log.Fatal(err)
	}
}

// What would lose or repeat messages is refused with the option's name.
func ExampleNewSource() {
	_, err := sqs.NewSource(sqs.SourceOptions{Client: new(awssqs.Client), NackDelay: 10 * time.Millisecond})
	fmt.Println(err)
	// Output:
	// sqs: option SourceOptions.NackDelay is 10ms: it may be 1s to 12h0m0s, or 0 for the default
}
