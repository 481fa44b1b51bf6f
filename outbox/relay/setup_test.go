package relay_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/pgtest/pgstore"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/outbox/relay"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/sqlite"
	"github.com/headrace/headrace/store/txn"
)

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		child()
	}
	goleak.VerifyTestMain(m)
}

// waitTimeout bounds every wait of a test for something that must happen.
const waitTimeout = 2 * time.Minute

// realStore is one of the two stores.
type realStore struct {
	store.Store
	db *sql.DB
}

func (s realStore) DB() *sql.DB { return s.db }

func (s realStore) Check(ctx context.Context) (store.Report, error) {
	return s.Store.(store.Checker).Check(ctx)
}

// opener opens handles on one database.
type opener func(t testing.TB) realStore

func sqliteDB(t testing.TB) opener { return sqliteFile(filepath.Join(t.TempDir(), "outbox.db")) }

func sqliteFile(path string) opener {
	return func(t testing.TB) realStore {
		st, err := sqlite.Open(context.Background(), path, sqlite.Options{Migrate: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		return realStore{st, st.DB()}
	}
}

func postgresDB(t testing.TB) opener {
	dsn, schema := pgstore.New(t)
	return postgresSchema(dsn, schema)
}

func postgresSchema(dsn, schema string) opener {
	return func(t testing.TB) realStore {
		st := pgstore.Open(t, dsn, postgres.Options{Schema: schema, Migrate: true, MaxConns: 12})
		return realStore{st, st.DB()}
	}
}

// bundle is what a test works with.
type bundle struct {
	testing.TB
	open  opener
	st    *watched
	ob    *outbox.Outbox
	sink  *fakeSink
	board *board
}

// onEach runs test on each of the stores.
func onEach(t *testing.T, test func(b *bundle)) {
	t.Helper()
	t.Parallel()
	for name, database := range map[string]func(testing.TB) opener{"sqlite": sqliteDB, "postgres": postgresDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(setup(t, database(t)))
		})
	}
}

func setup(t testing.TB, open opener) *bundle {
	b := &bundle{TB: t, open: open, board: newBoard()}
	b.sink = &fakeSink{board: b.board}
	b.st = &watched{realStore: open(t), board: b.board}
	b.ob = outbox.New(b.st.Outbox())
	t.Cleanup(b.checkAtEnd)
	return b
}

// checkAtEnd runs the invariants of the store over what the test left.
func (b *bundle) checkAtEnd() {
	report, err := b.st.Check(context.Background())
	if err != nil {
		b.Errorf("Check: %v", err)
	}
	for _, rule := range report.Rules {
		if rule.Violations > 0 {
			b.Errorf("Check: rule %s (%s) is broken %d times, by %s", rule.Name, rule.Says, rule.Violations, rule.Example)
		}
	}
}

// options are quick ones for tests.
func (b *bundle) options() relay.Options {
	return relay.Options{
		Backoff: retry.Backoff{Initial: 5 * time.Millisecond, Max: 20 * time.Millisecond, Factor: 2},
		MaxPoll: 100 * time.Millisecond,
		SinkID:  "the test's",
		Logger:  slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
}

// relay runs a relay on st until the returned function or the test ends it.
func (b *bundle) relay(st relay.Store, o relay.Options) (r *relay.Relay, stop func()) {
	b.Helper()
	r, err := relay.New(st, b.sink, o)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			b.Errorf("Run: %v", err)
		}
	})
	b.Cleanup(stop)
	return r, stop
}

// publish writes events in a transaction of the caller's kind, and wakes the relay.
func (b *bundle) publish(events ...headrace.Event) {
	b.Helper()
	tx, err := b.st.DB().BeginTx(context.Background(), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if err := b.ob.Publish(context.Background(), tx, events...); err != nil {
		b.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
	b.ob.Wake()
}

func (b *bundle) status() outbox.Status {
	b.Helper()
	s, err := b.st.Outbox().Status(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func total(s outbox.Status) int64 { return s.Ready + s.Delayed + s.Parked + s.Behind }

// untilEmpty waits until the outbox holds no row.
func (b *bundle) untilEmpty() {
	b.Helper()
	b.until("the outbox is empty", func() bool { return total(b.status()) == 0 })
}

// until waits until cond holds. It asks again after each publish, commit and hook.
func (b *bundle) until(what string, cond func() bool) {
	b.Helper()
	timeout := time.After(waitTimeout)
	for {
		changed := b.board.changed()
		if cond() {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			b.Fatalf("timed out: %s; status %+v, %d published", what, b.status(), len(b.sink.all()))
		}
	}
}

// board tells those who wait that something has changed.
type board struct {
	mu sync.Mutex
	c  chan struct{}
}

func newBoard() *board { return &board{c: make(chan struct{})} }

func (b *board) changed() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.c
}

func (b *board) note() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.c)
	b.c = make(chan struct{})
}

// watched is the real store; it tells of each commit, and can be told to do
// something else.
type watched struct {
	realStore
	board  *board
	commit func(ctx context.Context, t *txn.Txn) error
}

func (w *watched) Commit(ctx context.Context, t *txn.Txn, events []outbox.Row) error {
	defer w.board.note()
	if w.commit != nil {
		return w.commit(ctx, t)
	}
	return w.realStore.Commit(ctx, t, events)
}

func event(topic, key, id string) headrace.Event {
	return headrace.Event{ID: id, Topic: topic, OrderKey: key, Payload: []byte("payload of " + id)}
}

// series is n events of a topic and key, with ids "prefix-0", "prefix-1", …
func series(topic, key, prefix string, n int) []headrace.Event {
	events := make([]headrace.Event, n)
	for i := range events {
		events[i] = event(topic, key, fmt.Sprintf("%s-%d", prefix, i))
	}
	return events
}
