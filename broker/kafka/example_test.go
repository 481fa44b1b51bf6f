package kafka_test

import (
	"context"
	"fmt"
	"log"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/broker/kafka"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/store/sqlite"
)

// A member of a consumer group, and the outbox published to another topic. (examples/kafka
// runs such a thing.)
func Example() {
	brokers := []string{"localhost:9092"}
	source, err := kafka.NewSource(kafka.SourceOptions{Brokers: brokers, Group: "billing"})
	if err != nil {
		log.Fatal(err)
	}
	defer source.Close()
	sink, err := kafka.NewSink(kafka.SinkOptions{Brokers: brokers})
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
	c, err := consumer.New("billing", st, consumer.Config{Source: source, Sink: sink})
	if err != nil {
		log.Fatal(err)
	}
	type order struct {
		ID       string `json:"order_id"`
		Customer string `json:"customer"`
	}
	consumer.Handle(c, "orders.paid", func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[order]) error {
		// The order key becomes the record's key, and decides the partition.
		return tx.Publish(headrace.Event{Topic: "invoices.created", OrderKey: m.Body.Customer, Value: m.Body})
	})
	fmt.Println(c.Run(ctx))
}

// What weakens a sink is refused by its name, before anything is connected.
func ExampleNewSink() {
	_, err := kafka.NewSink(kafka.SinkOptions{
		Brokers: []string{"localhost:9092"},
		Client:  []kgo.Opt{kgo.RequiredAcks(kgo.LeaderAck())},
	})
	fmt.Println(err)
	// Output: kafka: sink: option Client sets kgo.RequiredAcks: confirmed messages can be lost unless all in-sync replicas have them; UnsafeAcks allows it
}
