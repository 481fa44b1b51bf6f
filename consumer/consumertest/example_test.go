package consumertest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/consumer/consumertest"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/retry"
)

// Order is what a shop sends.
type Order struct {
	ID    string `json:"id"`
	Total int64  `json:"total"`
}

var errNotPositive = errors.New("the total is not positive")

// addInvoice is the handler under test: one row and one event.
func addInvoice(ctx context.Context, tx *headrace.Tx, m *headrace.Message[Order]) error {
	if m.Body.Total <= 0 {
		return retry.Permanent(errNotPositive)
	}
	_, err := tx.ExecContext(ctx, "INSERT INTO invoices (order_id, total) VALUES ($1, $2)", m.Body.ID, m.Body.Total)
	if err != nil {
		return err
	}
	return tx.Publish(headrace.Event{Topic: "invoices.created", OrderKey: m.Body.ID, Value: m.Body})
}

// orderKey is what tells orders apart.
var orderKey = inbox.Join(inbox.Literal("order"), inbox.JSON("id"))

// billing is the program's own wiring, on what a test has in place of the world outside.
func billing(p *consumertest.Process) (*consumer.Consumer, error) {
	c, err := consumer.New("billing", p.Store, consumer.Config{
		Source: p.Source, Sink: p.Sink, Logger: p.Logger, Key: orderKey,
		Retry: retry.Policy{MaxAttempts: 3, Backoff: retry.Backoff{Initial: time.Minute, Max: time.Hour, Factor: 2}},
	})
	if err != nil {
		return nil, err
	}
	consumer.Handle(c, "orders.paid", addInvoice)
	return c, nil
}

// testBilling is how a test reads. Postgres(dsn) in place of SQLite() runs it there.
func testBilling(t testing.TB) {
	k := consumertest.New(t, consumertest.SQLite(), billing)
	k.Exec("CREATE TABLE invoices (order_id TEXT, total INTEGER)")
	paid := consumertest.JSON("orders.paid", "webhook-1", Order{ID: "10492", Total: 4200})

	k.CrashAt(consumertest.AfterCommit) // before the broker is told
	k.DeliverAtOnce(3, paid)            // to three processes

	k.AppliedOnce(paid, "SELECT count(*) FROM invoices WHERE order_id = $1", "10492")
	k.Published(consumertest.Event{Topic: "invoices.created", Key: "10492", Payload: []byte(`{"id": "10492", "total": 4200}`)})
}

// A test of a handler. Here run stands for go test; in a test of your own testBilling is
// TestBilling(t *testing.T).
func Example() {
	run(testBilling)
	// Output: PASS
}
