package adopt_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/memsource"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store"
)

// withRouter runs a Router with a handler for as long as the test lasts; attach gets it
// with the publisher of the Router.
func withRouter(t *testing.T, h message.NoPublishHandlerFunc, attach func(*message.Router, message.Publisher) (*consumer.Consumer, error)) *memsource.Source {
	t.Helper()
	source, pub := memsource.New(), gochannel.NewGoChannel(gochannel.Config{}, watermill.NopLogger{})
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	must(t, err)
	router.AddConsumerHandler("invoices", "orders.paid", source, h)
	c, err := attach(router, pub)
	must(t, err)
	ended := make(chan error, 1)
	go func() { ended <- router.Run(context.Background()) }()
	<-router.Running()
	t.Cleanup(func() {
		if err := errors.Join(router.Close(), <-ended, c.Wait(context.Background()), pub.Close()); err != nil {
			t.Error(err)
		}
	})
	return source
}

func deliver(t *testing.T, source *memsource.Source) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if acked, err := memsource.Outcome(ctx, source.Deliver("orders.paid", "m-1", []byte(order), nil)); !acked {
		t.Fatalf("the delivery was not acknowledged: %v", err)
	}
}

// Without retries, the first failure of a Router's handler is a dead letter, and nothing
// of what it wrote is kept.
func TestRouterWithoutRetries(t *testing.T) {
	st := openSQLite(t)
	source := withRouter(t, func(m *message.Message) error {
		tx, _ := headrace.TxFrom(m.Context())
		_, err := tx.ExecContext(m.Context(), "INSERT INTO invoices (order_id) VALUES ($1)", m.UUID)
		return errors.Join(err, errors.New("no such customer"))
	}, func(router *message.Router, pub message.Publisher) (*consumer.Consumer, error) {
		c, err := consumer.Attach(router, st, consumer.Config{Name: "billing", Sink: pub, Retry: retry.Policy{MaxAttempts: 1}})
		return c, err
	})
	deliver(t, source)
	letters, err := st.Letters().List(t.Context(), dlq.Filter{}, 0, 10)
	must(t, err)
	if len(letters) != 1 || letters[0].Attempts != 1 {
		t.Errorf("letters: %+v", letters)
	}
	var invoices int
	must(t, st.DB().QueryRow("SELECT count(*) FROM invoices").Scan(&invoices))
	if invoices != 0 {
		t.Errorf("%d invoices", invoices)
	}
}

// A Router's handler that leaves the transaction alone is retried as well, and is not run
// for a duplicate.
func TestRouterHandlerWithoutTheTransaction(t *testing.T) {
	var st store.Store = openSQLite(t)
	var runs atomic.Int64
	source := withRouter(t, func(*message.Message) error {
		if runs.Add(1) == 1 {
			return errors.New("the mail server is busy")
		}
		return nil
	}, func(router *message.Router, pub message.Publisher) (*consumer.Consumer, error) {
		return consumer.Attach(router, st, consumer.Config{
			Name: "mails", Sink: pub, Retry: retry.Policy{Backoff: retry.Backoff{Initial: time.Millisecond}},
		})
	})
	deliver(t, source)
	done := func() bool {
		rows, err := st.Inbox().Find(t.Context(), "m-1")
		must(t, err)
		return len(rows) == 1 && rows[0].State == inbox.Done
	}
	for end := time.Now().Add(30 * time.Second); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it was not run again")
		}
	}
	deliver(t, source)
	if n := runs.Load(); n != 2 {
		t.Errorf("%d runs", n)
	}
}
