package relay_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/outbox/relay"
	"github.com/headrace/headrace/store/sqlite"
)

// broker stands for a broker's Publisher. It tells a channel what it was given.
type broker chan string

func (b broker) Publish(topic string, messages ...*message.Message) error {
	for _, m := range messages {
		b <- fmt.Sprintf("to the broker: %s %s", topic, m.Payload)
	}
	return nil
}

func (broker) Close() error { return nil }

// A relay of its own, in a process without handlers, say: it publishes the events that any
// program writes into this database.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	dir, err := os.MkdirTemp("", "relay")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	st, err := sqlite.Open(ctx, filepath.Join(dir, "orders.db"), sqlite.Options{Migrate: true})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = st.Close() }()

	sink := make(broker, 10)
	r, err := relay.New(st, sink, relay.Options{SinkID: "kafka in Frankfurt"})
	if err != nil {
		log.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()

	ob := outbox.New(st.Outbox())
	tx, err := st.DB().BeginTx(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if err := ob.Publish(ctx, tx, headrace.Event{Topic: "orders.paid", Value: map[string]int{"id": 1}}); err != nil {
		log.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		log.Fatal(err)
	}
	ob.Wake()

	fmt.Println(<-sink)
	stop()
	if err := <-ended; err != nil {
		log.Fatal(err)
	}
	// Output: to the broker: orders.paid {"id":1}
}
