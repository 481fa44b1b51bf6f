package dlq_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/sqlite"
)

// A message that a handler of an existing Router cannot take is kept, and the next one
// is not held up.
func ExampleMiddleware() {
	st, closing := exampleStore()
	defer closing()
	keep, err := dlq.Middleware(st, "billing", dlq.MiddlewareOptions{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		log.Fatal(err)
	}
	exampleRun(func(m *message.Message) error {
		if m.UUID == "2" {
			return fmt.Errorf("order %s: no such customer", m.UUID)
		}
		fmt.Println("billed", m.UUID)
		return nil
	}, keep)
	exampleLetters(st)
	// Output:
	// billed 1
	// billed 3
	// 1 letter (exhausted), 1 attempt: order 2: no such customer
}

// All three, in their order: dlq, retry, inbox. A Router calls the middleware that was
// added first first.
func ExampleMiddleware_together() {
	st, closing := exampleStore()
	defer closing()
	keep, err1 := dlq.Middleware(st, "billing", dlq.MiddlewareOptions{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	again, err2 := retry.Middleware(retry.Policy{MaxAttempts: 3, Backoff: retry.Backoff{Initial: time.Millisecond}}, retry.MiddlewareOptions{})
	once, err3 := inbox.Middleware(st, "billing", inbox.MiddlewareOptions{})
	if err := errors.Join(err1, err2, err3); err != nil {
		log.Fatal(err)
	}
	exampleRun(func(m *message.Message) error {
		tx, _ := headrace.TxFrom(m.Context())
		if _, err := tx.ExecContext(m.Context(), "INSERT INTO invoices (order_id) VALUES ($1)", m.UUID); err != nil {
			return err
		}
		if m.UUID == "2" { // after the write, which is rolled back
			return errors.New("the tax service has no answer")
		}
		fmt.Println("billed", m.UUID)
		return nil
	}, keep, again, once)
	exampleLetters(st)
	// Output:
	// billed 1
	// billed 3
	// 1 letter (exhausted), 3 attempts: the tax service has no answer
}

// exampleStore opens a database in a directory of its own.
func exampleStore() (*sqlite.Store, func()) {
	dir, err := os.MkdirTemp("", "dlq")
	if err != nil {
		log.Fatal(err)
	}
	st, err := sqlite.Open(context.Background(), filepath.Join(dir, "billing.db"), sqlite.Options{Migrate: true})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := st.DB().Exec("CREATE TABLE invoices (order_id TEXT)"); err != nil {
		log.Fatal(err)
	}
	return st, func() { _, _ = st.Close(), os.RemoveAll(dir) }
}

// exampleRun runs a Router for three messages.
func exampleRun(handler message.NoPublishHandlerFunc, middlewares ...message.HandlerMiddleware) {
	// Publish returns when the message has been acknowledged.
	broker := gochannel.NewGoChannel(gochannel.Config{BlockPublishUntilSubscriberAck: true}, watermill.NopLogger{})
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	if err != nil {
		log.Fatal(err)
	}
	router.AddMiddleware(middlewares...)
	router.AddConsumerHandler("invoices", "orders.paid", broker, handler)
	ended := make(chan error)
	go func() { ended <- router.Run(context.Background()) }()
	<-router.Running()
	for _, id := range []string{"1", "2", "3"} {
		if err := broker.Publish("orders.paid", message.NewMessage(id, []byte("{}"))); err != nil {
			log.Fatal(err)
		}
	}
	if err := errors.Join(router.Close(), <-ended); err != nil {
		log.Fatal(err)
	}
}

// exampleLetters prints the open letters.
func exampleLetters(st store.Store) {
	letters, err := st.Letters().List(context.Background(), dlq.Filter{}, 0, 10)
	if err != nil {
		log.Fatal(err)
	}
	for i, l := range letters {
		attempts := "attempts"
		if l.Attempts == 1 {
			attempts = "attempt"
		}
		fmt.Printf("%d letter (%s), %d %s: %s\n", i+1, l.Class, l.Attempts, attempts, l.Error)
	}
}
