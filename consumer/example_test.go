package consumer_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/sqlite"
)

type Order struct {
	ID    string `json:"id"`
	Total int64  `json:"total"`
}

// A consumer of paid orders: an invoice and an event for each, once, however often
// the order is delivered.
func Example() {
	ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
	defer stop()
	dir, err := os.MkdirTemp("", "headrace")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	st, err := sqlite.Open(ctx, filepath.Join(dir, "orders.db"), sqlite.Options{Migrate: true})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	if _, err := st.DB().Exec("CREATE TABLE invoices (order_id TEXT, total INTEGER)"); err != nil {
		log.Fatal(err)
	}
	source := gochannel.NewGoChannel(gochannel.Config{Persistent: true}, watermill.NopLogger{})
	sink := gochannel.NewGoChannel(gochannel.Config{}, watermill.NopLogger{})
	created, err := sink.Subscribe(ctx, "invoices.created")
	if err != nil {
		log.Fatal(err)
	}

	c, err := consumer.New("billing", st, consumer.Config{
		Source: source, // an adapter under broker/, or any Watermill Subscriber
		Sink:   sink,   // the same, or any Watermill Publisher: for what handlers publish
		// What names the order, however often it is sent. A message without it is a dead letter.
		Key:   inbox.Join(inbox.Header("shop"), inbox.Literal("order"), inbox.JSON("id")),
		Retry: retry.Policy{MaxAttempts: 8, Immediate: 2, Backoff: retry.Backoff{Initial: time.Second, Max: time.Hour, Factor: 2, Jitter: .2}},
	})
	if err != nil {
		log.Fatal(err)
	}
	consumer.Handle(c, "orders.paid", func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[Order]) error {
		if m.Body.Total <= 0 {
			return retry.Permanent(fmt.Errorf("total is not positive")) // a dead letter, at once
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO invoices (order_id, total) VALUES ($1, $2)", m.Body.ID, m.Body.Total)
		if err != nil {
			return err // rolled back, retried by the policy
		}
		return tx.Publish(headrace.Event{Topic: "invoices.created", OrderKey: m.Body.ID, Value: m.Body})
	})

	for range 3 { // the same fact, three times, under three message ids
		m := message.NewMessage(watermill.NewUUID(), []byte(`{"id": "10492", "total": 4200}`))
		m.Metadata.Set("shop", "shop.example")
		if err := source.Publish("orders.paid", m); err != nil {
			log.Fatal(err)
		}
	}
	running, stopRunning := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- c.Run(running) }()
	event := <-created
	event.Ack()
	for c.Stats().Applied+c.Stats().Duplicates < 3 {
		time.Sleep(time.Millisecond)
	}
	stopRunning()
	if err := <-ended; err != nil {
		log.Fatal(err)
	}
	_, _ = source.Close(), sink.Close()

	var invoices int
	if err := st.DB().QueryRow("SELECT count(*) FROM invoices").Scan(&invoices); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d invoice, event %s\n", invoices, event.Payload)
	// Output: 1 invoice, event {"id":"10492","total":4200}
}
