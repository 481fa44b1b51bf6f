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
	"github.com/headrace/headrace/store/sqlite"
)

// runUntilApplied registers handlers on a consumer of a new database, publishes bodies
// to topic, and runs it until they are applied. It returns how many rows they left.
func runUntilApplied(topic string, bodies []string, register func(c *consumer.Consumer)) int {
	dir, err := os.MkdirTemp("", "headrace")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	st, err := sqlite.Open(context.Background(), filepath.Join(dir, "orders.db"), sqlite.Options{Migrate: true})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	if _, err := st.DB().Exec("CREATE TABLE reports (order_id TEXT, text TEXT)"); err != nil {
		log.Fatal(err)
	}
	sub := gochannel.NewGoChannel(gochannel.Config{Persistent: true}, watermill.NopLogger{})
	c, err := consumer.New("reports", st, consumer.Config{Source: sub})
	if err != nil {
		log.Fatal(err)
	}
	register(c)
	for _, body := range bodies {
		if err := sub.Publish(topic, message.NewMessage(watermill.NewUUID(), []byte(body))); err != nil {
			log.Fatal(err)
		}
	}
	ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	for c.Stats().BacklogApplied < int64(len(bodies)) && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	stop()
	if err := <-ended; err != nil {
		log.Fatal(err)
	}
	_ = sub.Close()
	var rows int
	if err := st.DB().QueryRow("SELECT count(*) FROM reports").Scan(&rows); err != nil {
		log.Fatal(err)
	}
	return rows
}

// Slow work: a report that another service writes. No transaction and no connection is
// held meanwhile; what it came to is committed once.
func ExampleHandleLeased() {
	write := func(ctx context.Context, o Order) (string, error) { return "about order " + o.ID, nil } // takes minutes

	rows := runUntilApplied("orders.paid", []string{`{"id": "10492"}`, `{"id": "10493"}`}, func(c *consumer.Consumer) {
		consumer.HandleLeased(c, "orders.paid", func(ctx context.Context, m *headrace.Message[Order]) (headrace.Effects, error) {
			text, err := write(ctx, m.Body)
			if err != nil {
				return nil, err // an attempt; the policy decides
			}
			return func(ctx context.Context, tx *headrace.Tx) error {
				_, err := tx.ExecContext(ctx, "INSERT INTO reports (order_id, text) VALUES ($1, $2)", m.Body.ID, text)
				return err
			}, nil
		}, consumer.Concurrency(16), consumer.Timeout(15*time.Minute))
	})
	fmt.Println(rows, "reports")
	// Output: 2 reports
}

// A burst is taken off the broker at once, and handled from the database.
func ExampleIntake() {
	rows := runUntilApplied("orders.paid", []string{`{"id": "1"}`, `{"id": "2"}`, `{"id": "3"}`}, func(c *consumer.Consumer) {
		consumer.Handle(c, "orders.paid", func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[Order]) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO reports (order_id, text) VALUES ($1, '')", m.Body.ID)
			return err
		}, consumer.Intake())
	})
	fmt.Println(rows, "reports")
	// Output: 3 reports
}
