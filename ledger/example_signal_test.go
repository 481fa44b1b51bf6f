package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/ledger/resolve"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/sqlite"
)

var approval = ledger.Signal[bool]{Name: "approval", Timeout: 72 * time.Hour}

// ship waits for the approval of an order.
func ship(ctx context.Context, m *headrace.Message[Order]) (headrace.Effects, error) {
	ok, err := approval.Await(ctx)
	if errors.Is(err, ledger.ErrNoSignal) {
		ok, err = false, nil // three days without an answer are a no
	}
	if err != nil {
		return nil, err // the message waits in the database
	}
	return func(ctx context.Context, tx *headrace.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO shipped (order_id, approved) VALUES ($1, $2)", m.Body.ID, ok)
		return err
	}, nil
}

// approve is what a web page or a callback does.
func approve(ctx context.Context, st store.Store, orderID string) error {
	return approval.Send(ctx, resolve.New(st), inbox.ID{Scope: "shop/orders.paid", Key: orderID}, true)
}

// An order waits for a person, without a process, until it is approved.
func ExampleSignal() {
	dir, err := os.MkdirTemp("", "headrace")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	st, err := sqlite.Open(context.Background(), filepath.Join(dir, "shop.db"), sqlite.Options{Migrate: true})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	if _, err := st.DB().Exec("CREATE TABLE shipped (order_id TEXT, approved INTEGER)"); err != nil {
		log.Fatal(err)
	}
	broker := gochannel.NewGoChannel(gochannel.Config{Persistent: true}, watermill.NopLogger{})
	c, err := consumer.New("shop", st, consumer.Config{Source: broker, Logger: slog.New(slog.DiscardHandler), Key: inbox.MessageID()})
	if err != nil {
		log.Fatal(err)
	}
	consumer.HandleLeased(c, "orders.paid", ship, consumer.Steps(approval))
	if err := broker.Publish("orders.paid", message.NewMessage("order-1", []byte(`{"id":"1","total":4200}`))); err != nil {
		log.Fatal(err)
	}

	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	for c.Stats().BacklogApplied == 0 && ctx.Err() == nil {
		err := approve(ctx, st, "order-1")
		if err != nil && !errors.Is(err, ledger.ErrUnknown) { // the message may not be there yet, or be done
			log.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	stop()
	if err := <-ended; err != nil {
		log.Fatal(err)
	}
	_ = broker.Close()
	var approved bool
	if err := st.DB().QueryRow("SELECT approved FROM shipped WHERE order_id = '1'").Scan(&approved); err != nil {
		log.Fatal(err)
	}
	fmt.Println("approved:", approved)
	// Output: approved: true
}
