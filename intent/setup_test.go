package intent_test

import (
	"context"
	"database/sql"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/intent"
	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/internal/pgtest/pgstore"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/sqlite"
)

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		child()
		return
	}
	goleak.VerifyTestMain(m)
}

// bound is how long a test waits for what it demands.
const bound = 30 * time.Second

// order is the value of the tests' intents.
type order struct {
	ID    int    `json:"id"`
	Total string `json:"total"`
}

var orders = intent.Kind[order]{Consumer: "billing", Handler: "orders"}

// bed is a database with a client.
type bed struct {
	*testing.T
	st     store.Store
	db     *sql.DB
	client *intent.Client
	// open opens another store on the database, as another process does.
	open func() store.Store
	// dsn is of PostgreSQL, path of SQLite.
	dsn, schema, path string
}

// onEachStore runs f on PostgreSQL with both drivers, and on SQLite.
func onEachStore(t *testing.T, f func(*bed)) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "test.db")
		start(&bed{T: t, path: path, open: func() store.Store {
			st, err := sqlite.Open(context.Background(), path, sqlite.Options{Migrate: true})
			return opened(t, st, err)
		}}, f)
	})
	t.Run("lib/pq", func(t *testing.T) {
		t.Parallel()
		dsn, schema := pgstore.New(t)
		start(&bed{T: t, dsn: dsn, schema: schema, open: func() store.Store {
			st, err := postgres.Open(context.Background(), dsn, postgres.Options{Schema: schema, Migrate: true})
			return opened(t, st, err)
		}}, f)
	})
	t.Run("pgx", func(t *testing.T) {
		t.Parallel()
		dsn, schema := pgstore.New(t)
		start(&bed{T: t, dsn: dsn, schema: schema, open: func() store.Store {
			st, err := postgres.OpenPool(context.Background(), pgtest.OpenPool(t, dsn, 0), postgres.Options{Schema: schema, Migrate: true})
			return opened(t, st, err)
		}}, f)
	})
}

// opened is a store that the end of the test closes.
func opened(t *testing.T, st interface {
	store.Store
	Close() error
}, err error) store.Store {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st
}

func start(b *bed, f func(*bed)) {
	b.Helper()
	b.st = b.open()
	b.db = b.st.(interface{ DB() *sql.DB }).DB()
	b.exec("CREATE TABLE effects (id INTEGER NOT NULL)")
	b.client = b.newClient(b.st, intent.Options{})
	f(b)
	report, err := b.st.(store.Checker).Check(context.Background())
	if err != nil || !report.OK() {
		b.Errorf("check: %+v, %v", report, err)
	}
}

func (b *bed) newClient(st store.Store, o intent.Options) *intent.Client {
	b.Helper()
	c, err := intent.NewClient(st, o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := c.Close(); err != nil {
			b.Error(err)
		}
	})
	return c
}

func (b *bed) exec(query string, args ...any) {
	b.Helper()
	if _, err := b.db.Exec(query, args...); err != nil {
		b.Fatalf("%s: %v", query, err)
	}
}

func (b *bed) count(query string, args ...any) (n int) {
	b.Helper()
	if err := b.db.QueryRow(query, args...).Scan(&n); err != nil {
		b.Fatalf("%s: %v", query, err)
	}
	return n
}

// ctx ends after bound.
func (b *bed) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	b.Cleanup(cancel)
	return ctx
}

// request is the intent of an owner with a key for order id.
func request(owner, key string, id int) intent.Request[order] {
	return intent.Request[order]{Owner: owner, Key: key, Value: order{ID: id, Total: "9.90"}}
}

// start starts an intent.
func (b *bed) start(r intent.Request[order]) intent.Intent {
	b.Helper()
	got, err := orders.Start(b.ctx(), b.client, r)
	if err != nil {
		b.Fatal(err)
	}
	return got
}

// await waits for the end of an intent.
func (b *bed) await(key string) intent.Intent {
	b.Helper()
	got, err := orders.Await(b.ctx(), b.client, key)
	if err != nil {
		b.Fatal(err)
	}
	return got
}

// config is that of a consumer with n attempts for a message.
func config(n int) consumer.Config {
	return consumer.Config{
		Logger: slog.New(slog.DiscardHandler), DrainTimeout: 2 * time.Second,
		Retry: retry.Policy{MaxAttempts: n, Backoff: retry.Backoff{Initial: 10 * time.Millisecond, Max: 10 * time.Millisecond, Factor: 1}},
	}
}

// process runs the consumer of orders on a store, and returns what ends it.
func (b *bed) process(st store.Store, attempts int, register func(*consumer.Consumer)) (stop func()) {
	b.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- runOrders(ctx, st, attempts, register) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	b.Cleanup(stop)
	return stop
}

// runOrders runs the consumer of orders until ctx ends.
func runOrders(ctx context.Context, st store.Store, attempts int, register func(*consumer.Consumer)) error {
	c, err := consumer.New("billing", st, config(attempts))
	if err != nil {
		return err
	}
	register(c)
	return c.Run(ctx)
}

// applied inserts the order's id, and answers with an invoice.
func applied(ctx context.Context, tx *headrace.Tx, m *headrace.Message[order]) error {
	if _, err := tx.ExecContext(ctx, "INSERT INTO effects (id) VALUES ($1)", m.Body.ID); err != nil {
		return err
	}
	return intent.Answer(tx, invoice{Number: m.Body.ID * 10})
}

// invoice is the answer.
type invoice struct {
	Number int `json:"number"`
}

// handles registers a handler of the Kind.
func handles(f consumer.Func[order]) func(*consumer.Consumer) {
	return func(c *consumer.Consumer) { consumer.Handle(c, "orders", f, consumer.Local(), orders.Option()) }
}

// worked is applied for a leased handler.
func worked(_ context.Context, m *headrace.Message[order]) (headrace.Effects, error) {
	return intent.Effects(invoice{Number: m.Body.ID * 10}, func(ctx context.Context, tx *headrace.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO effects (id) VALUES ($1)", m.Body.ID)
		return err
	}), nil
}
