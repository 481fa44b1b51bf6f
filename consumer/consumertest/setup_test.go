package consumertest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/consumer/consumertest"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/retry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// order is what a shop sends, and policy one of hours, as in production.
type order struct {
	ID    string `json:"id"`
	Total int64  `json:"total"`
}

var policy = retry.Policy{MaxAttempts: 4, Immediate: 1, Backoff: retry.Backoff{Initial: time.Minute, Max: time.Hour, Factor: 2}}

const (
	topic    = "orders.paid"
	invoices = "CREATE TABLE invoices (order_id TEXT NOT NULL, total BIGINT NOT NULL)"
	invoiced = "SELECT count(*) FROM invoices WHERE order_id = $1"
)

var errTotal = errors.New("the total is not positive")

// invoice is a right handler.
func invoice(ctx context.Context, tx *headrace.Tx, m *headrace.Message[order]) error {
	if m.Body.Total <= 0 {
		return retry.Permanent(errTotal)
	}
	_, err := tx.ExecContext(ctx, "INSERT INTO invoices (order_id, total) VALUES ($1, $2)", m.Body.ID, m.Body.Total)
	if err != nil {
		return err
	}
	return tx.Publish(headrace.Event{Topic: "invoices.created", OrderKey: m.Body.ID, Value: m.Body, Metadata: map[string]string{"shop": "mill"}})
}

func key() inbox.KeyFunc { return inbox.Join(inbox.Literal("order"), inbox.JSON("id")) }

// wired is a program's wiring, with the registrations of register.
func wired(register func(c *consumer.Consumer, p *consumertest.Process)) consumertest.Wire {
	return func(p *consumertest.Process) (*consumer.Consumer, error) {
		c, err := consumer.New("billing", p.Store, consumer.Config{
			Source: p.Source, Sink: p.Sink, Logger: p.Logger, Key: key(), Retry: policy,
		})
		if err != nil {
			return nil, err
		}
		register(c, p)
		return c, nil
	}
}

func wire(p *consumertest.Process) (*consumer.Consumer, error) {
	return wired(func(c *consumer.Consumer, _ *consumertest.Process) { consumer.Handle(c, topic, invoice) })(p)
}

// onEach runs f on SQLite and on PostgreSQL, in tests of their own and in parallel with other tests.
func onEach(t *testing.T, f func(t *testing.T, db consumertest.Database)) { onEachOf(t, 0, f) }

// onEachOf is onEach for the nth case of a test: in the short form only each third is on PostgreSQL.
func onEachOf(t *testing.T, nth int, f func(t *testing.T, db consumertest.Database)) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); f(t, consumertest.SQLite()) })
	if testing.Short() && nth%3 != 0 {
		return
	}
	t.Run("postgres", func(t *testing.T) { t.Parallel(); f(t, consumertest.Postgres(dsn(t))) })
}

// dsn is that of the server for tests; pgtest says what happens where there is none.
func dsn(t *testing.T) string {
	t.Helper()
	dsn, _ := pgtest.New(t)
	return dsn
}

// kit is New with the table that the handlers write to.
func kit(t testing.TB, db consumertest.Database, w consumertest.Wire) *consumertest.Kit {
	t.Helper()
	k := consumertest.New(t, db, w)
	k.Exec(invoices)
	return k
}

func paid(id string) consumertest.Message {
	return consumertest.JSON(topic, "webhook-"+id, order{id, 4200})
}
