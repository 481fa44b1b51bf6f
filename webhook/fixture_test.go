package webhook_test

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/internal/fault"
	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/internal/pgtest/pgstore"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/sqlite"
	"github.com/headrace/headrace/webhook"
)

// fixture is a consumer with a source on one database. It ends with the check of the
// invariants.
type fixture struct {
	*testing.T
	st    store.Store
	db    *sql.DB
	where orders // for a child

	hooks *webhook.Source
	mux   *http.ServeMux
	url   string
	c     *consumer.Consumer
	stop  context.CancelFunc
	ended chan error

	mu    sync.Mutex
	point func(fault.Point) error // called at each point; nil goes on
}

// onEachStore runs f on SQLite and on PostgreSQL.
func onEachStore(t *testing.T, f func(f *fixture)) {
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); f(onSQLite(t)) })
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		dsn, schema := pgstore.New(t)
		db := pgtest.OpenDB(t, pgstore.Driver(t), dsn)
		st, err := postgres.New(t.Context(), db, postgres.Options{Schema: schema, Migrate: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		f(newFixture(t, st, db, orders{DSN: dsn, Schema: schema}))
	})
}

func onSQLite(t *testing.T) *fixture {
	path := filepath.Join(t.TempDir(), "test.db")
	st, err := sqlite.Open(t.Context(), path, sqlite.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return newFixture(t, st, st.DB(), orders{SQLite: path})
}

func newFixture(t *testing.T, st store.Store, db *sql.DB, where orders) *fixture {
	f := &fixture{T: t, st: st, db: db, where: where, mux: http.NewServeMux()}
	if _, err := db.Exec("CREATE TABLE effects (msg TEXT NOT NULL)"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		f.halt()
		report, err := st.(store.Checker).Check(context.Background())
		if err != nil {
			t.Errorf("check: %v", err)
		}
		for _, rule := range report.Rules {
			if rule.Violations > 0 {
				t.Errorf("invariant broken: %s: %d times, for example %s", rule.Says, rule.Violations, rule.Example)
			}
		}
	})
	f.use(quiet(), consumer.Config{})
	return f
}

// use replaces source and consumer by ones with these options. Call it before start.
func (f *fixture) use(o webhook.Options, config consumer.Config) {
	f.Helper()
	f.hooks = newSource(f.T, o)
	f.Cleanup(f.halt) // before the source is closed
	f.mux = http.NewServeMux()
	f.mux.Handle("POST /stripe", f.hooks.Endpoint("stripe", webhook.Stripe(secret)))
	f.url = serve(f.T, f.mux)
	config.Logger, config.NackPause = slog.New(slog.NewTextHandler(io.Discard, nil)), 5*time.Millisecond
	c, err := consumer.New("test", fault.Store(f.st, f.at), config)
	if err != nil {
		f.Fatal(err)
	}
	f.c = c
}

// at is the hook of the store.
func (f *fixture) at(p fault.Point) error {
	f.mu.Lock()
	point := f.point
	f.mu.Unlock()
	if point == nil {
		return nil
	}
	return point(p)
}

// setPoint sets the hook of the store.
func (f *fixture) setPoint(point func(fault.Point) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.point = point
}

type fact struct {
	ID string `json:"id"`
}

// insert has one effect for each message that is applied.
func insert(ctx context.Context, tx *headrace.Tx, m *headrace.Message[fact]) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO effects (msg) VALUES ($1)", m.Body.ID)
	return err
}

// start runs the consumer, and returns when it is ready.
func (f *fixture) start() {
	f.Helper()
	f.run()
	waitFor(f.T, func() bool { return f.c.Ready() == nil })
}

// run runs the consumer.
func (f *fixture) run() {
	ctx, cancel := context.WithCancel(context.Background())
	f.stop, f.ended = cancel, make(chan error, 1)
	go func() { f.ended <- f.c.Run(ctx) }()
}

// halt stops the consumer.
func (f *fixture) halt() {
	f.Helper()
	if f.stop == nil {
		return
	}
	f.stop()
	f.stop = nil
	select {
	case err := <-f.ended:
		if err != nil {
			f.Errorf("Run: %v", err)
		}
	case <-time.After(time.Minute):
		f.Error("Run did not return")
	}
}

// handle registers insert for the requests of Stripe.
func (f *fixture) handle(options ...consumer.Option) {
	consumer.Handle(f.c, "stripe", insert, append(options, consumer.From(f.hooks))...)
}

// want posts an event and compares the answer.
func (f *fixture) want(what, body string, code int) {
	f.Helper()
	if got := post(f.T, f.url+"/stripe", body); got != code {
		f.Errorf("%s: %d, want %d", what, got, code)
	}
}

// effects compares the number of effects.
func (f *fixture) effects(want int) {
	f.Helper()
	if n := f.count(); n != want {
		f.Errorf("%d effects, want %d", n, want)
	}
}

func (f *fixture) count() (n int) {
	f.Helper()
	if err := f.db.QueryRow("SELECT count(*) FROM effects").Scan(&n); err != nil {
		f.Error(err)
	}
	return n
}

// letters compares the classes of the dead letters.
func (f *fixture) letters(want ...dlq.Class) {
	f.Helper()
	list, err := f.st.Letters().List(f.Context(), dlq.Filter{}, 0, 10)
	if err != nil {
		f.Fatal(err)
	}
	if len(list) != len(want) {
		f.Fatalf("%d letters, want %d", len(list), len(want))
	}
	for i, l := range list {
		if l.Class != want[i] {
			f.Errorf("letter of class %s, want %s", l.Class, want[i])
		}
	}
}

var errLost = errors.New("the connection is lost")
