package regress

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.uber.org/goleak"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/crashguard"
	"github.com/headrace/headrace/internal/memsource"
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
	}
	// Most of the tests wait for something. Those that measure a time are not parallel.
	flag.Parse()
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

const (
	topic = "orders.paid"
	// name is that of the consumers, and scope that of the keys of topic's handler.
	name  = "test"
	scope = name + "/" + topic
	// bound is how long a test waits for what it demands.
	bound = time.Minute
)

// The databases of a fixture, by driver.
const (
	libpq  = "lib/pq"
	pgx    = "pgx"
	pool   = "pool" // of pgx, where our statements travel with BEGIN and COMMIT
	onFile = "sqlite"
)

// drivers returns those of PostgreSQL that this run is about: see package pgstore. The short
// form has lib/pq only.
func drivers(t *testing.T) []string {
	t.Helper()
	if pgstore.Driver(t) == "pgx" {
		return []string{pool}
	}
	if testing.Short() {
		return []string{libpq}
	}
	return []string{libpq, pgx}
}

// fixture is a database with a source.
type fixture struct {
	*testing.T
	driver string
	st     store.Store
	db     *sql.DB
	src    *memsource.Source
	// schema is where the tables are on PostgreSQL.
	schema string
	// look is the store that the test itself looks at letters with: st where it is nil.
	look store.Store
	// open opens another store on the same database, as another process does.
	open func() store.Store
}

// onEachStore runs f on PostgreSQL with each driver, and on SQLite unless this run is about
// a pool of pgx.
func onEachStore(t *testing.T, f func(*fixture)) {
	onPostgres(t, f)
	if pgstore.Driver(t) == "pgx" {
		return
	}
	t.Run(onFile, func(t *testing.T) { t.Parallel(); f(newSQLite(t)) })
}

// onPostgres runs f on PostgreSQL with each driver.
func onPostgres(t *testing.T, f func(*fixture)) {
	for _, driver := range drivers(t) {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			dsn, schema := pgstore.New(t)
			f(newPostgres(t, driver, dsn, schema))
		})
	}
}

func newSQLite(t *testing.T) *fixture {
	t.Helper()
	return newSQLiteAt(t, filepath.Join(t.TempDir(), "test.db"))
}

func newSQLiteAt(t *testing.T, path string) *fixture {
	t.Helper()
	return newFixture(&fixture{T: t, driver: onFile}, func() store.Store {
		st, err := sqlite.Open(context.Background(), path, sqlite.Options{Migrate: true})
		if err != nil {
			t.Fatal(err)
		}
		return st
	})
}

// newPostgres is a fixture on a schema, opened as users do: lib/pq by postgres.Open, pgx
// by a handle or a pool of theirs.
func newPostgres(t *testing.T, driver, dsn, schema string) *fixture {
	t.Helper()
	o := postgres.Options{Schema: schema, Migrate: true}
	return newFixture(&fixture{T: t, driver: driver, schema: schema}, func() store.Store {
		var st *postgres.Store
		var err error
		switch driver {
		case libpq:
			st, err = postgres.Open(context.Background(), dsn, o)
		case pool:
			st, err = postgres.OpenPool(context.Background(), pgtest.OpenPool(t, dsn, 0), o)
		default:
			st, err = postgres.New(context.Background(), pgtest.OpenDB(t, "pgx", dsn), o)
		}
		if err != nil {
			t.Fatal(err)
		}
		return st
	})
}

// newFixture opens the store, and has the test end with the check of the invariants.
func newFixture(f *fixture, open func() store.Store) *fixture {
	f.open = func() store.Store {
		st := open()
		f.Cleanup(func() { _ = st.(io.Closer).Close() })
		return st
	}
	f.st, f.src = f.open(), memsource.New()
	f.db = f.st.(interface{ DB() *sql.DB }).DB()
	f.exec("CREATE TABLE effects (msg TEXT NOT NULL, n INTEGER NOT NULL, tenant TEXT)")
	f.Cleanup(func() {
		report, err := f.st.(store.Checker).Check(context.Background())
		if err != nil {
			f.Errorf("check: %v", err)
		}
		for _, rule := range report.Rules {
			if rule.Violations > 0 {
				f.Errorf("invariant broken: %s: %d times, for example %s", rule.Says, rule.Violations, rule.Example)
			}
		}
	})
	return f
}

// attempts is a policy of n attempts with a short pause between them.
func attempts(n int) retry.Policy {
	return retry.Policy{MaxAttempts: n, Backoff: retry.Backoff{Initial: 20 * time.Millisecond, Max: 20 * time.Millisecond, Factor: 1}}
}

// config has one attempt for each message, and takes the order key from the metadata.
func (f *fixture) config() consumer.Config {
	return consumer.Config{
		Source: f.src, Retry: attempts(1), DrainTimeout: 2 * time.Second, BatchTime: time.Minute,
		OrderKey: func(d *headrace.Delivery) string { return d.Metadata[orderKey] },
		Logger:   slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
}

// configOf is config for a handler of one way alone: it has no BatchTime where no message
// shares its transaction, since it would be refused there.
func (f *fixture) configOf(w way) consumer.Config {
	config := f.config()
	if w.single {
		config.BatchTime = 0
	}
	return config
}

// orderKey is the metadata that names the order key.
const orderKey = "order_key"

// consumer returns a consumer that is as if it were alone in its process: a message that may have ended a
// process would otherwise wait until no handler of any test runs.
func (f *fixture) consumer(st store.Store, config consumer.Config) *consumer.Consumer {
	f.Helper()
	c, err := consumer.New(name, st, config)
	if err != nil {
		f.Fatal(err)
	}
	c.Runtime().Process = crashguard.NewProcess()
	return c
}

// process is a consumer that runs.
type process struct {
	*consumer.Consumer
	f     *fixture
	stop  context.CancelFunc
	ended chan error
	err   error
	over  bool
}

// start runs c until halt or the end of the test.
func (f *fixture) start(c *consumer.Consumer) *process {
	ctx, stop := context.WithCancel(context.Background())
	p := &process{Consumer: c, f: f, stop: stop, ended: make(chan error, 1)}
	go func() { p.ended <- c.Run(ctx) }()
	f.Cleanup(func() { _ = p.halt() })
	return p
}

// halt stops the consumer and returns what Run returned.
func (p *process) halt() error {
	p.f.Helper()
	p.stop()
	if p.over {
		return p.err
	}
	p.over = true
	select {
	case p.err = <-p.ended:
	case <-time.After(time.Minute):
		p.f.Error("Run did not return")
	}
	return p.err
}

// deliver hands a message over: its id is its key.
func (f *fixture) deliver(id string, n int) *message.Message {
	return f.deliverOrdered(id, n, "")
}

// deliverOrdered hands over a message with an order key.
func (f *fixture) deliverOrdered(id string, n int, key string) *message.Message {
	return f.src.Deliver(topic, id, fmt.Appendf(nil, `{"n":%d}`, n), map[string]string{orderKey: key})
}

// acked waits until all of ms are acknowledged.
func (f *fixture) acked(ms ...*message.Message) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), bound)
	defer cancel()
	for _, m := range ms {
		if ok, err := memsource.Outcome(ctx, m); err != nil || !ok {
			f.Fatalf("message %s: acknowledged %t, %v", m.UUID, ok, err)
		}
	}
}

// eventually waits until cond is true: it is for commits, of which a test gets no signal.
func (f *fixture) eventually(what string, cond func() bool) {
	f.Helper()
	if !f.comes(bound, cond) {
		f.Fatalf("not within %s: %s", bound, what)
	}
}

// await waits until c is closed, or something comes from it.
func (f *fixture) await(what string, c <-chan struct{}) {
	f.Helper()
	select {
	case <-c:
	case <-time.After(bound):
		f.Fatalf("not within %s: %s", bound, what)
	}
}

func (f *fixture) comes(within time.Duration, cond func() bool) bool {
	f.Helper()
	for deadline := time.Now().Add(within); !cond(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

func (f *fixture) exec(query string, args ...any) {
	f.Helper()
	if _, err := f.db.Exec(query, args...); err != nil {
		f.Fatalf("%s: %v", query, err)
	}
}

// later shifts the clock of the database.
func (f *fixture) later(d time.Duration) {
	f.Helper()
	if f.driver == onFile {
		f.exec("UPDATE headrace_clock SET shift_us = $1", d.Microseconds())
		return
	}
	if err := pgtest.ShiftClock(f.Context(), f.db, d); err != nil {
		f.Fatal(err)
	}
}

// count returns the number that query gives.
func (f *fixture) count(query string, args ...any) (n int) {
	f.Helper()
	if err := f.db.QueryRow(query, args...).Scan(&n); err != nil {
		f.Fatalf("%s: %v", query, err)
	}
	return n
}

// effects returns how often the message of this id was applied.
func (f *fixture) effects(id string) int {
	f.Helper()
	return f.count("SELECT count(*) FROM effects WHERE msg = $1", id)
}

// appliedOnce waits until the messages of these ids are applied or dead. It fails the test
// unless each was applied once, without a failed attempt.
func (f *fixture) appliedOnce(ids ...string) {
	f.Helper()
	f.comes(bound, func() bool { return f.allEnded(ids) })
	for _, id := range ids {
		if n := f.effects(id); n != 1 {
			f.Errorf("%s was applied %d times; state %q", id, n, f.state(id))
		}
		if list := f.attempts(id); len(list) > 0 {
			f.Errorf("%s has %d failed attempts, the last: %s", id, len(list), list[len(list)-1].Error)
		}
	}
}

// state returns the inbox state of a message of topic, "" if it is unknown.
func (f *fixture) state(id string) inbox.State {
	f.Helper()
	rows, err := f.st.Inbox().Find(f.Context(), id)
	if err != nil {
		f.Fatal(err)
	}
	for _, row := range rows {
		if row.Scope == scope {
			return row.State
		}
	}
	return ""
}

// ended reports whether a message of topic was applied or is dead.
func (f *fixture) ended(id string) bool {
	f.Helper()
	s := f.state(id)
	return s == inbox.Done || s == inbox.Dead
}

// allEnded begins with the last, which most often ends last: it is asked again and again.
func (f *fixture) allEnded(ids []string) bool {
	f.Helper()
	for _, id := range slices.Backward(ids) {
		if !f.ended(id) {
			return false
		}
	}
	return true
}

// attempts returns the failed runs of a message of topic.
func (f *fixture) attempts(id string) []inbox.Attempt {
	f.Helper()
	list, err := f.st.Inbox().Attempts(f.Context(), inbox.ID{Scope: scope, Key: id})
	if err != nil {
		f.Fatal(err)
	}
	return list
}

// letters returns the dead letters in any state.
func (f *fixture) letters() []dlq.Letter {
	f.Helper()
	st := f.st
	if f.look != nil {
		st = f.look
	}
	list, err := redrive.New(st).List(f.Context(), dlq.Filter{AnyState: true}, 0, 1000)
	if err != nil {
		f.Fatal(err)
	}
	return list
}

// noLetters fails the test for each dead letter.
func (f *fixture) noLetters() {
	f.Helper()
	for _, l := range f.letters() {
		f.Errorf("a dead letter, %s, for %s: %s", l.Class, l.Delivery.Key, l.Error)
	}
}

// deadAfter waits until the message is dead, and checks that its attempts are recorded. It
// allows three runs for each, and four more to find it in a batch of ten by halves.
func (f *fixture) deadAfter(id string, seen *runs, attempts int) {
	f.Helper()
	f.eventually(id+" is applied or dead", func() bool { return f.ended(id) })
	if f.state(id) != inbox.Dead || f.effects(id) != 0 || len(f.letters()) != 1 {
		f.Errorf("%s is %s, with %d effects, among %d letters", id, f.state(id), f.effects(id), len(f.letters()))
	}
	if n := len(f.attempts(id)); n != attempts {
		f.Errorf("%s has %d attempts recorded, want %d", id, n, attempts)
	}
	if n := seen.of(id); n > 3*attempts+4 { // three for an attempt, and one for each halving of its batch
		f.Errorf("%s ran %d times in %d attempts", id, n, attempts)
	}
}

type body struct {
	N int `json:"n"`
}

// insert is the effect of a message: one row for each time that it was applied.
func insert(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO effects (msg, n) VALUES ($1, $2)", m.ID, m.Body.N)
	return err
}

var errBoom = errors.New("boom")

// runs counts the runs of a handler by message, and remembers when they began.
type runs struct {
	mu sync.Mutex
	at map[string][]time.Time
}

// next counts a run of the message and returns its number, from 1.
func (r *runs) next(id string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at == nil {
		r.at = make(map[string][]time.Time)
	}
	r.at[id] = append(r.at[id], time.Now())
	return len(r.at[id])
}

func (r *runs) of(id string) int { return len(r.times(id)) }

func (r *runs) times(id string) []time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.at[id])
}

// series returns the ids prefix0, prefix1 and so on.
func series(prefix string, n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprint(prefix, i)
	}
	return ids
}
