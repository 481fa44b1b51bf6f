package enginetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/pgtest/pgstore"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/sqlite"
)

// Consumer is the name of the consumer, and Bound how long a test waits for what it
// demands.
const (
	Consumer = "test"
	Bound    = 2 * time.Minute
)

// ErrBoom is what handlers fail with.
var ErrBoom = errors.New("boom")

// Fixture is a database.
type Fixture struct {
	*testing.T
	Store *Store
	DB    *sql.DB
	// SQLite says that it is a file.
	SQLite bool

	open func() store.Store
}

// OnEachStore runs f on SQLite and on PostgreSQL, in parallel with other tests.
func OnEachStore(t *testing.T, f func(*Fixture)) {
	t.Parallel()
	onSQLite(t, f)
	onPostgres(t, "postgres", pgstore.Driver(t), f)
}

// OnEachDriver is OnEachStore, with each driver of PostgreSQL whatever the run is about; in the
// short form with lib/pq alone.
func OnEachDriver(t *testing.T, f func(*Fixture)) {
	t.Parallel()
	onSQLite(t, f)
	onPostgres(t, "postgres", "postgres", f)
	if !testing.Short() {
		onPostgres(t, "pgx", "pgx", f)
	}
}

func onSQLite(t *testing.T, f func(*Fixture)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "test.db")
		f(newFixture(&Fixture{T: t, SQLite: true, open: func() store.Store {
			st, err := sqlite.Open(context.Background(), path, sqlite.Options{Migrate: true})
			if err != nil {
				t.Fatal(err)
			}
			return st
		}}))
	})
}

func onPostgres(t *testing.T, name, driver string, f func(*Fixture)) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		dsn, schema := pgstore.New(t)
		f(newFixture(&Fixture{T: t, open: func() store.Store {
			return pgstore.OpenWith(t, driver, dsn, postgres.Options{Schema: schema, Migrate: true})
		}}))
	})
}

func newFixture(f *Fixture) *Fixture {
	f.Store = f.Open()
	f.DB = f.Store.Store.(interface{ DB() *sql.DB }).DB()
	f.Exec("CREATE TABLE effects (msg TEXT NOT NULL)")
	f.Cleanup(f.check)
	return f
}

// Open opens another store on the same database, as another process does.
func (f *Fixture) Open() *Store {
	st := f.open()
	f.Cleanup(func() { _ = st.(io.Closer).Close() })
	return &Store{Store: st}
}

func (f *Fixture) check() {
	report, err := f.Store.Store.(store.Checker).Check(context.Background())
	if err != nil {
		f.Errorf("check: %v", err)
	}
	for _, rule := range report.Rules {
		if rule.Violations > 0 {
			f.Errorf("invariant broken: %s: %d times, for example %s", rule.Says, rule.Violations, rule.Example)
		}
	}
}

// Exec runs a statement.
func (f *Fixture) Exec(query string, args ...any) {
	f.Helper()
	if _, err := f.DB.Exec(query, args...); err != nil {
		f.Fatalf("%s: %v", query, err)
	}
}

// Count returns the number that query gives.
func (f *Fixture) Count(query string, args ...any) (n int) {
	f.Helper()
	if err := f.DB.QueryRow(query, args...).Scan(&n); err != nil {
		f.Fatalf("%s: %v", query, err)
	}
	return n
}

// Effect is the effect of a message.
func Effect(ctx context.Context, tx *headrace.Tx, in task.Input) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO effects (msg) VALUES ($1)", in.Delivery.Key)
	return err
}

// Effects returns how often the message of this key was applied.
func (f *Fixture) Effects(key string) int {
	f.Helper()
	return f.Count("SELECT count(*) FROM effects WHERE msg = $1", key)
}

// AppliedOnce fails the test unless each message was applied once, without a failed
// attempt.
func (f *Fixture) AppliedOnce(h *task.Handler, keys ...string) {
	f.Helper()
	for _, key := range keys {
		if n, state, a := f.Effects(key), f.State(h, key), f.Attempts(h, key); n != 1 || state != inbox.Done || len(a) > 0 {
			f.Errorf("%s: applied %d times, state %q, %d attempts", key, n, state, len(a))
		}
	}
}

// State returns the state of a message's inbox row, "" where there is none.
func (f *Fixture) State(h *task.Handler, key string) inbox.State {
	f.Helper()
	rows, err := f.Store.Inbox().Find(f.Context(), key)
	if err != nil {
		f.Fatal(err)
	}
	for _, row := range rows {
		if row.Scope == h.Scope {
			return row.State
		}
	}
	return ""
}

// Attempts returns the recorded attempts of a message.
func (f *Fixture) Attempts(h *task.Handler, key string) []inbox.Attempt {
	f.Helper()
	list, err := f.Store.Inbox().Attempts(f.Context(), inbox.ID{Scope: h.Scope, Key: key})
	if err != nil {
		f.Fatal(err)
	}
	return list
}

// Letters returns the dead letters in any state, the oldest first.
func (f *Fixture) Letters() []dlq.Letter {
	f.Helper()
	list, err := f.Store.Letters().List(f.Context(), dlq.Filter{AnyState: true}, 0, 1000)
	if err != nil {
		f.Fatal(err)
	}
	return list
}

// Eventually waits until cond is true: it is for commits, of which a test gets no signal.
func (f *Fixture) Eventually(what string, cond func() bool) {
	f.Helper()
	for deadline := time.Now().Add(Bound); !cond(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			f.Fatalf("not within %s: %s", Bound, what)
		}
	}
}

// Attempts is a policy of n attempts without a pause between them.
func Attempts(n int) retry.Policy {
	return retry.Policy{MaxAttempts: n, Immediate: n - 1}.WithDefaults()
}

// Handler returns a registration of run with one attempt.
func Handler(name string, run func(ctx context.Context, tx *headrace.Tx, in task.Input) error) *task.Handler {
	return &task.Handler{
		Consumer: Consumer, Name: name, Topic: name, Scope: Consumer + "/" + name, Timeout: time.Minute, Policy: Attempts(1),
		Decode: func(d *headrace.Delivery) (any, error) { return string(d.Payload), nil },
		Run: func(ctx context.Context, tx *headrace.Tx, inputs []task.Input) error {
			return run(ctx, tx, inputs[0])
		},
	}
}

// Delivery is a message for h. Order keys are of the form "key:number".
func Delivery(h *task.Handler, key, orderKey string) headrace.Delivery {
	return headrace.Delivery{
		Scope: h.Scope, Key: key, Fingerprint: "f", OrderKey: orderKey, Topic: h.Topic, Payload: []byte("{}"),
		Metadata: map[string]string{}, Attempt: 1,
	}
}

// Span is a duration in SQL.
func (f *Fixture) Span(d time.Duration) string {
	if f.SQLite {
		return fmt.Sprint(d.Microseconds())
	}
	return fmt.Sprintf("interval '%d microseconds'", d.Microseconds())
}

// Keys returns the keys prefix0, prefix1 and so on.
func Keys(prefix string, n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprint(prefix, i)
	}
	return keys
}

// Runs remembers the runs of messages, in order. It is safe for concurrent use.
type Runs struct {
	mu    sync.Mutex
	order []string
	count map[string]int
}

// Next counts a run of a message, and returns its number from 1.
func (r *Runs) Next(key string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count == nil {
		r.count = make(map[string]int)
	}
	r.order = append(r.order, key)
	r.count[key]++
	return r.count[key]
}

// Of returns how often a message ran.
func (r *Runs) Of(key string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count[key]
}

// Order returns the runs so far.
func (r *Runs) Order() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.order...)
}
