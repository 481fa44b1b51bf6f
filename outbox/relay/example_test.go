package relay_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
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

// A relay of its own, in a process without handlers, say: it gives the events of one topic
// to a consumer of the same database, without a broker, and publishes all others.
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

	sink, handled := make(broker, 10), make(chan string, 10)
	r, err := relay.New(st, sink, relay.Options{
		// The same routes in every relay of this outbox.
		Routes: []relay.Route{{Topic: "orders.placed", Consumer: "billing"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	c, err := consumer.New("billing", st, consumer.Config{})
	if err != nil {
		log.Fatal(err)
	}
	consumer.Handle(c, "orders.placed", func(_ context.Context, _ *headrace.Tx, m *headrace.Message[map[string]int]) error {
		handled <- fmt.Sprintf("to the handler: %s, order %d", m.Topic, m.Body["id"])
		return nil
	}, consumer.Local())
	ended := make(chan error, 2)
	go func() { ended <- r.Run(ctx) }()
	go func() { ended <- c.Run(ctx) }()

	ob := outbox.New(st.Outbox())
	tx, err := st.DB().BeginTx(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	err = ob.Publish(ctx, tx,
		headrace.Event{Topic: "orders.placed", Value: map[string]int{"id": 1}},
		headrace.Event{Topic: "orders.paid", Value: map[string]int{"id": 1}})
	if err != nil {
		log.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		log.Fatal(err)
	}
	ob.Wake()

	fmt.Println(<-handled)
	fmt.Println(<-sink)
	stop()
	if err := errors.Join(<-ended, <-ended); err != nil {
		log.Fatal(err)
	}
	// Output:
	// to the handler: orders.placed, order 1
	// to the broker: orders.paid {"id":1}
}
