package consumer_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.uber.org/goleak"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
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
	// A Router leaves this one behind where it cannot subscribe.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/ThreeDotsLabs/watermill/message.(*Router).watchAllHandlersStopped.func1"))
}

const topic = "orders.paid"

// bundle is what a test works with. It ends with the check of the invariants.
type bundle struct {
	*testing.T
	st      store.Store
	db      *sql.DB
	src     *memsource.Source
	started bool
	stop    context.CancelFunc
	ended   chan error
}

// onEachStore runs f on SQLite and on PostgreSQL, in parallel with other tests.
func onEachStore(t *testing.T, f func(b *bundle)) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); f(setupSQLite(t)) })
	t.Run("postgres", func(t *testing.T) { t.Parallel(); f(setupPostgres(t)) })
}

func setupSQLite(t *testing.T) *bundle {
	t.Helper()
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), sqlite.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return newBundle(t, st, st.DB())
}

func setupPostgres(t *testing.T) *bundle {
	t.Helper()
	b, _, _ := newPostgres(t, pgstore.Driver(t))
	return b
}

// newPostgres is a bundle on a schema of its own, and where that is for other stores.
func newPostgres(t *testing.T, driver string) (b *bundle, dsn, schema string) {
	t.Helper()
	dsn, schema = pgstore.New(t)
	db := pgtest.OpenDB(t, driver, dsn)
	st, err := postgres.New(t.Context(), db, postgres.Options{Schema: schema, Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return newBundle(t, st, db), dsn, schema
}

func newBundle(t *testing.T, st store.Store, db *sql.DB) *bundle {
	b := &bundle{T: t, st: st, db: db, src: memsource.New()}
	b.exec("CREATE TABLE effects (seq INTEGER, msg TEXT NOT NULL)")
	t.Cleanup(func() {
		b.halt()
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
	return b
}

// quick is a policy whose delays a test can wait for.
var quick = retry.Policy{MaxAttempts: 3, Immediate: 1, Backoff: retry.Backoff{Initial: time.Millisecond, Max: time.Millisecond, Factor: 1}}

// config is the smallest that works, with a quick policy.
func (b *bundle) config() consumer.Config {
	log := &namedLines{TB: b.T}
	b.Cleanup(func() { log.ended.Store(true) })
	return consumer.Config{Source: b.src, Retry: quick, Logger: slog.New(slog.NewTextHandler(log, nil)), DrainTimeout: 10 * time.Second}
}

// namedLines demands of each line of the log that it names the consumer once, and of one about
// a message its handler and key, too.
type namedLines struct {
	testing.TB
	ended atomic.Bool
}

func (l *namedLines) Write(line []byte) (int, error) {
	text := string(line)
	for _, name := range []string{" consumer=", " handler=", " key="} {
		if (name == " consumer=" || strings.Contains(text, ` msg="message `)) && strings.Count(text, name) != 1 && !l.ended.Load() {
			l.Errorf("%s is not in this line once: %s", name, text)
		}
	}
	return len(line), nil
}

func (b *bundle) consumer(c consumer.Config) *consumer.Consumer {
	b.Helper()
	made, err := consumer.New("test", b.st, c)
	if err != nil {
		b.Fatal(err)
	}
	return made
}

// start runs c until halt.
func (b *bundle) start(c *consumer.Consumer) {
	ctx, cancel := context.WithCancel(context.Background())
	b.stop, b.ended, b.started = cancel, make(chan error, 1), true
	go func() { b.ended <- c.Run(ctx) }()
}

// halt stops what start began and returns what Run returned.
func (b *bundle) halt() error {
	b.Helper()
	if !b.started {
		return nil
	}
	b.started = false
	b.stop()
	return b.wait()
}

// wait returns what Run returned, without asking it to stop.
func (b *bundle) wait() error {
	b.Helper()
	select {
	case err := <-b.ended:
		b.started = false
		b.stop()
		return err
	case <-time.After(60 * time.Second):
		b.Fatal("Run did not return")
		return nil
	}
}

// deliver hands over a JSON body under an id.
func (b *bundle) deliver(id, body string) *message.Message {
	return b.src.Deliver(topic, id, []byte(body), nil)
}

// acked waits for m to be acknowledged.
func (b *bundle) acked(ms ...*message.Message) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 2*time.Minute)
	defer cancel()
	for _, m := range ms {
		ok, err := memsource.Outcome(ctx, m)
		if err != nil {
			b.Fatalf("message %s has no outcome: %v", m.UUID, err)
		}
		if !ok {
			b.Fatalf("message %s was given back", m.UUID)
		}
	}
}

// eventually waits until cond holds: for what commits without a signal to a test.
func (b *bundle) eventually(what string, cond func() bool) {
	b.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for !cond() {
		if time.Now().After(deadline) {
			b.Fatalf("did not come: %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (b *bundle) exec(query string) {
	b.Helper()
	if _, err := b.db.Exec(query); err != nil {
		b.Fatal(err)
	}
}

// count returns the number that query gives.
func (b *bundle) count(query string, args ...any) int {
	b.Helper()
	var n int
	if err := b.db.QueryRow(query, args...).Scan(&n); err != nil {
		b.Fatalf("%s: %v", query, err)
	}
	return n
}

// effects returns how often the effect of a message is there.
func (b *bundle) effects(id string) int {
	b.Helper()
	return b.count("SELECT count(*) FROM effects WHERE msg = $1", id)
}

// state returns the inbox state of a key, "" if there is no row.
func (b *bundle) state(key string) inbox.State {
	b.Helper()
	rows, err := b.st.Inbox().Find(b.Context(), key)
	if err != nil {
		b.Fatal(err)
	}
	if len(rows) == 0 {
		return ""
	}
	return rows[0].State
}

func (b *bundle) attempts(key string) []inbox.Attempt {
	b.Helper()
	return b.attemptsOf(topic, key)
}

// attemptsOf are those of a handler that is not named after its topic.
func (b *bundle) attemptsOf(handler, key string) []inbox.Attempt {
	b.Helper()
	list, err := b.st.Inbox().Attempts(b.Context(), inbox.ID{Scope: "test/" + handler, Key: key})
	if err != nil {
		b.Fatal(err)
	}
	return list
}

type body struct {
	N int `json:"n"`
}

// insert is the effect of a message: a row that is there once for each time it was
// applied.
func insert(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO effects (seq, msg) VALUES ($1, $2)", m.Body.N, m.ID)
	return err
}

// runs counts the runs of a handler by message.
type runs struct {
	mu sync.Mutex
	n  map[string]int
}

func (r *runs) next(id string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n == nil {
		r.n = make(map[string]int)
	}
	r.n[id]++
	return r.n[id]
}

func (r *runs) of(id string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n[id]
}

var errBoom = errors.New("boom")
