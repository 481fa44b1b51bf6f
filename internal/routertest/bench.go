package routertest

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/sqlite"
)

// Names that tests share.
const (
	Consumer = "test"
	Handler  = "orders"
	Topic    = "orders.paid"
	Replies  = "invoices.created"
	Scope    = Consumer + "/" + Handler
)

// limit is how long a test waits for what must come.
const limit = 30 * time.Second

// Bench is a Router with one handler, and a store with a table effects (msg).
type Bench struct {
	*testing.T
	Store  *Failing
	DB     *sql.DB
	Router *message.Router
	PubSub *gochannel.GoChannel
}

// OnEachStore runs f on SQLite and on PostgreSQL.
func OnEachStore(t *testing.T, f func(b *Bench)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); f(OnSQLite(t)) })
	t.Run("postgres", func(t *testing.T) { t.Parallel(); f(onPostgres(t)) })
}

// OnSQLite returns a bench with a database in a file.
func OnSQLite(t *testing.T) *Bench {
	t.Helper()
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), sqlite.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return newBench(t, st, st.DB())
}

func onPostgres(t *testing.T) *Bench {
	t.Helper()
	dsn, schema := pgtest.New(t)
	db := pgtest.OpenDB(t, "postgres", dsn)
	st, err := postgres.New(t.Context(), db, postgres.Options{Schema: schema, Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return newBench(t, st, db)
}

func newBench(t *testing.T, st store.Store, db *sql.DB) *Bench {
	b := &Bench{T: t, Store: &Failing{Store: st}, DB: db}
	if _, err := db.Exec("CREATE TABLE effects (msg TEXT NOT NULL)"); err != nil {
		t.Fatal(err)
	}
	b.PubSub = gochannel.NewGoChannel(gochannel.Config{}, watermill.NopLogger{})
	var err error
	if b.Router, err = message.NewRouter(message.RouterConfig{CloseTimeout: limit}, watermill.NopLogger{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = b.Router.Close()
		_ = b.PubSub.Close()
		b.check(st.(store.Checker))
	})
	return b
}

func (b *Bench) check(c store.Checker) {
	report, err := c.Check(context.Background())
	if err != nil {
		b.Errorf("check: %v", err)
	}
	for _, rule := range report.Rules {
		if rule.Violations > 0 {
			b.Errorf("invariant broken: %s: %d times, for example %s", rule.Says, rule.Violations, rule.Example)
		}
	}
}

// Run starts the Router with h behind the middlewares, outermost first, and waits
// until it runs. The Router's own publisher fails the test when it is used.
func (b *Bench) Run(h message.HandlerFunc, ms ...message.HandlerMiddleware) {
	b.Helper()
	b.Router.AddHandler(Handler, Topic, b.PubSub, Replies, refusing{b.T}, h).AddMiddleware(ms...)
	ended := make(chan error, 1)
	go func() { ended <- b.Router.Run(context.Background()) }()
	b.Cleanup(func() {
		_ = b.Router.Close()
		if err := <-ended; err != nil {
			b.Errorf("the Router ended: %v", err)
		}
	})
	select {
	case <-b.Router.Running():
	case <-time.After(limit):
		b.Fatal("the Router does not run")
	}
}

// refusing is the publisher of a Router that must publish nothing.
type refusing struct{ t *testing.T }

func (r refusing) Publish(string, ...*message.Message) error {
	r.t.Error("the Router published by itself")
	return nil
}

func (refusing) Close() error { return nil }

// Insert is an effect of m in the transaction of its context.
func Insert(m *message.Message) error {
	tx, ok := headrace.TxFrom(m.Context())
	if !ok {
		return errNoTx
	}
	_, err := tx.ExecContext(m.Context(), "INSERT INTO effects (msg) VALUES ($1)", m.UUID)
	return err
}

// Make returns what a constructor made.
func Make(m message.HandlerMiddleware, err error) message.HandlerMiddleware {
	if err != nil {
		panic(err)
	}
	return m
}

// Effects returns how often the effect of a message is there.
func (b *Bench) Effects(id string) int {
	b.Helper()
	var n int
	if err := b.DB.QueryRow("SELECT count(*) FROM effects WHERE msg = $1", id).Scan(&n); err != nil {
		b.Fatal(err)
	}
	return n
}

// Row returns the inbox row of key; ok is false where there is none.
func (b *Bench) Row(key string) (e inbox.Entry, ok bool) {
	b.Helper()
	rows, err := b.Store.Inbox().Find(b.Context(), key)
	if err != nil {
		b.Fatal(err)
	}
	if len(rows) == 0 {
		return e, false
	}
	return rows[0], true
}
