package adopt_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/internal/memsource"
	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Order is the body of the messages.
type Order struct {
	ID    string `json:"id"`
	Total int64  `json:"total"`
}

const order = `{"id": "10492", "total": 4200}`

func openSQLite(t *testing.T) *sqlite.Store {
	t.Helper()
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "adopt.db"), sqlite.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	must(t, exec(st.DB().ExecContext(t.Context(), "CREATE TABLE invoices (order_id TEXT, total INTEGER)")))
	return st
}

// openPgx returns a store over pgx in a database of its own.
func openPgx(t *testing.T) *postgres.Store {
	t.Helper()
	pool := pgtest.OpenPool(t, pgtest.NewDatabase(t), 0)
	st, err := postgres.OpenPool(t.Context(), pool, postgres.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	must(t, exec(st.DB().ExecContext(t.Context(), "CREATE TABLE invoices (order_id text, total bigint)")))
	return st
}

// deliverTwice runs a consumer with the handlers that register adds, delivers the
// order twice, and returns when both deliveries are acknowledged and it has stopped.
func deliverTwice(t *testing.T, st store.Store, register func(c *consumer.Consumer)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	source := memsource.New()
	c, err := consumer.New("billing", st, consumer.Config{Source: source})
	must(t, err)
	register(c)
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- c.Run(running) }()
	for range 2 {
		if acked, err := memsource.Outcome(ctx, source.Deliver("orders.paid", "m-1", []byte(order), nil)); !acked {
			t.Errorf("the delivery was not acknowledged: %v", err)
		}
	}
	stop()
	must(t, <-ended)
	if n := c.Stats().Applied; n != 1 {
		t.Errorf("applied %d times: %+v", n, c.Stats())
	}
	if checker, ok := st.(store.Checker); ok {
		report, err := checker.Check(t.Context())
		must(t, err)
		if !report.OK() {
			t.Errorf("the invariants do not hold: %+v", report)
		}
	}
}

func exec(_ any, err error) error { return err }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
