package consumer_test

import (
	"context"
	"errors"
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
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/sqlite"
)

// Many messages in one transaction, say for a bulk insert. A BatchError says which of
// them failed: everything is rolled back, and the others are handled again without those.
func ExampleHandleBatch() {
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
	defer func() { _ = source.Close() }()
	c, err := consumer.New("billing", st, consumer.Config{Source: source, MaxBatch: 100})
	if err != nil {
		log.Fatal(err)
	}
	consumer.HandleBatch(c, "orders.paid", func(ctx context.Context, tx *headrace.Tx, ms []*headrace.Message[Order]) error {
		failed := consumer.BatchError{}
		for i, m := range ms {
			if m.Body.Total <= 0 {
				failed[i] = retry.Permanent(errors.New("total is not positive")) // a dead letter, at once
				continue
			}
			if _, err := tx.ExecContext(ctx, "INSERT INTO invoices (order_id, total) VALUES ($1, $2)", m.Body.ID, m.Body.Total); err != nil {
				return err // of all; they are run one by one to find out whose it is
			}
		}
		if len(failed) > 0 {
			return failed
		}
		return nil
	})
	for i, total := range []int{4200, 0, 1700, 900} {
		m := message.NewMessage(fmt.Sprint("message ", i), fmt.Appendf(nil, `{"id": "%d", "total": %d}`, i, total))
		if err := source.Publish("orders.paid", m); err != nil {
			log.Fatal(err)
		}
	}

	running, stopRunning := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- c.Run(running) }()
	for s := c.Stats(); s.Applied+s.Dead < 4 && ctx.Err() == nil; s = c.Stats() {
		time.Sleep(time.Millisecond)
	}
	stopRunning()
	if err := <-ended; err != nil {
		log.Fatal(err)
	}
	var invoices, total int
	if err := st.DB().QueryRow("SELECT count(*), sum(total) FROM invoices").Scan(&invoices, &total); err != nil {
		log.Fatal(err)
	}
	letters, err := st.Letters().List(ctx, dlq.Filter{}, 0, 10)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d invoices of %d, %d dead letter\n", invoices, total, len(letters))
	fmt.Println(letters[0].Delivery.ID, letters[0].Error)
	// Output:
	// 3 invoices of 6800, 1 dead letter
	// message 1 total is not positive
}
