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
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/store/sqlite"
)

// A Router that is there already: its handler takes its transaction from its message,
// and Attach comes after the handlers and middlewares. The order is delivered three
// times, invoiced once and announced once.
func ExampleAttach() {
	ctx := context.Background()
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
	if _, err := st.DB().Exec("CREATE TABLE invoices (order_id TEXT)"); err != nil {
		log.Fatal(err)
	}
	sub := gochannel.NewGoChannel(gochannel.Config{Persistent: true}, watermill.NopLogger{})
	pub := gochannel.NewGoChannel(gochannel.Config{Persistent: true}, watermill.NopLogger{})
	announced, err := pub.Subscribe(ctx, "invoices.created")
	if err != nil {
		log.Fatal(err)
	}

	router := message.NewDefaultRouter(watermill.NopLogger{})
	router.AddMiddleware(middleware.Recoverer)
	router.AddHandler("invoices", "orders.paid", sub, "invoices.created", pub, func(m *message.Message) ([]*message.Message, error) {
		tx, _ := headrace.TxFrom(m.Context())
		if _, err := tx.ExecContext(m.Context(), "INSERT INTO invoices (order_id) VALUES ($1)", string(m.Payload)); err != nil {
			return nil, err
		}
		return []*message.Message{message.NewMessage("invoice of "+string(m.Payload), nil)}, nil
	})
	c, err := consumer.Attach(router, st, consumer.Config{Name: "billing", Sink: pub}, middleware.CorrelationID)
	if err != nil {
		log.Fatal(err)
	}

	ran := make(chan error, 1)
	go func() { ran <- router.Run(ctx) }()
	for range 3 {
		if err := sub.Publish("orders.paid", message.NewMessage("webhook 1", []byte("order 7"))); err != nil {
			log.Fatal(err)
		}
	}
	first := <-announced
	first.Ack()
	fmt.Println(first.UUID)
	for c.Stats().Duplicates < 2 {
		time.Sleep(time.Millisecond)
	}
	if err := router.Close(); err != nil {
		log.Fatal(err)
	}
	if err := <-ran; err != nil {
		log.Fatal(err)
	}
	if err := c.Wait(ctx); err != nil { // what Router.Run does not say
		log.Fatal(err)
	}
	s := c.Stats()
	fmt.Printf("delivered %d, applied %d, duplicates %d\n", s.Delivered, s.Applied, s.Duplicates)
	// Output:
	// invoice of order 7
	// delivered 3, applied 1, duplicates 2
}
