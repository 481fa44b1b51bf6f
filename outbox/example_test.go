package outbox_test

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

// printer stands for a broker's Publisher.
type printer struct{ printed chan struct{} }

func (p printer) Publish(topic string, messages ...*message.Message) error {
	for _, m := range messages {
		fmt.Printf("%s: %s\n", topic, m.Payload)
		p.printed <- struct{}{}
	}
	return nil
}

func (printer) Close() error { return nil }

// An order and the event that tells of it are committed together; the relay
// publishes the event after that.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	dir, err := os.MkdirTemp("", "outbox")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	st, err := sqlite.Open(ctx, filepath.Join(dir, "orders.db"), sqlite.Options{Migrate: true})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = st.Close() }()

	broker := printer{printed: make(chan struct{})}
	r, err := relay.New(st, broker, relay.Options{SinkID: "kafka in Frankfurt"})
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
	if _, err := tx.ExecContext(ctx, "CREATE TABLE orders (id integer, total integer)"); err != nil {
		log.Fatal(err)
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO orders VALUES (1, 250)"); err != nil {
		log.Fatal(err)
	}
	placed := headrace.Event{Topic: "orders.placed", OrderKey: "1", Value: map[string]int{"id": 1, "total": 250}}
	if err := ob.Publish(ctx, tx, placed); err != nil {
		log.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		log.Fatal(err)
	}
	ob.Wake()

	<-broker.printed
	stop()
	if err := <-ended; err != nil {
		log.Fatal(err)
	}
	// Output: orders.placed: {"id":1,"total":250}
}
