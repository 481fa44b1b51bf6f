package inbox_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/sqlite"
)

// A handler of an existing Router writes once, although its message comes twice; what
// it returns is in the outbox by the same commit.
func ExampleMiddleware() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "inbox")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	st, err := sqlite.Open(ctx, filepath.Join(dir, "billing.db"), sqlite.Options{Migrate: true})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	if _, err := st.DB().Exec("CREATE TABLE invoices (order_id TEXT)"); err != nil {
		log.Fatal(err)
	}
	once, err := inbox.Middleware(st, "billing", inbox.MiddlewareOptions{Wake: st.Outbox().Signal().Wake})
	if err != nil {
		log.Fatal(err)
	}
	// Publish returns when the message has been acknowledged.
	broker := gochannel.NewGoChannel(gochannel.Config{BlockPublishUntilSubscriberAck: true}, watermill.NopLogger{})
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	if err != nil {
		log.Fatal(err)
	}
	router.AddMiddleware(once)
	router.AddHandler("invoices", "orders.paid", broker, "invoices.created", broker, func(m *message.Message) ([]*message.Message, error) {
		tx, _ := headrace.TxFrom(m.Context())
		_, err := tx.ExecContext(m.Context(), "INSERT INTO invoices (order_id) VALUES ($1)", m.UUID)
		return []*message.Message{message.NewMessage("invoice of "+m.UUID, m.Payload)}, err
	})
	ended := make(chan error)
	go func() { ended <- router.Run(ctx) }()
	<-router.Running()
	for range 2 {
		if err := broker.Publish("orders.paid", message.NewMessage("order-1", []byte("{}"))); err != nil {
			log.Fatal(err)
		}
	}
	if err := router.Close(); err != nil {
		log.Fatal(err)
	}
	if err := <-ended; err != nil {
		log.Fatal(err)
	}
	var invoices int
	if err := st.DB().QueryRow("SELECT count(*) FROM invoices").Scan(&invoices); err != nil {
		log.Fatal(err)
	}
	outgoing, err := st.Outbox().Status(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(invoices, "invoice,", outgoing.Ready, "event to publish")
	// Output: 1 invoice, 1 event to publish
}
