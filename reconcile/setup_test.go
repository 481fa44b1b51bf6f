package reconcile_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/intent"
	"github.com/headrace/headrace/internal/memsource"
	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/internal/pgtest/pgstore"
	"github.com/headrace/headrace/reconcile"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/schedule"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bound is how long a test waits for what it demands. Where a planted bug keeps it from coming, the
// test must end within the 3 minutes that its runner gives it.
const bound = 2 * time.Minute

// order is the value of the Kind. Note is in webhooks alone.
type order struct {
	ID    int    `json:"id"`
	Total string `json:"total"`
	Note  string `json:"note,omitempty"`
}

var paid = intent.Kind[order]{
	Consumer: "billing", Handler: "orders.paid",
	Key: inbox.Join(inbox.Literal("shop:order"), inbox.JSON("id")), SameWhen: inbox.Fields("id", "total"),
}

// bed is a database with a shop, which is the source of truth.
type bed struct {
	*testing.T
	st     store.Store
	db     *sql.DB
	sqlite bool
	hooks  *memsource.Source
	stop   func() // ends the process
	c      *consumer.Consumer
	job    reconcile.Job[order]
	config consumer.Config

	mu    sync.Mutex
	ahead time.Duration // of the database's clock
	shop  []reconcile.Item[order]
	read  func(n int) error // called before an item is read; may be nil
}

// onEachStore runs f on PostgreSQL with both drivers, and on SQLite.
func onEachStore(t *testing.T, f func(*bed)) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		st, err := sqlite.Open(context.Background(), filepath.Join(t.TempDir(), "test.db"), sqlite.Options{Migrate: true})
		start(t, st, err, true, f)
	})
	t.Run("lib/pq", func(t *testing.T) {
		t.Parallel()
		dsn, schema := pgstore.New(t)
		st, err := postgres.Open(context.Background(), dsn, postgres.Options{Schema: schema, Migrate: true})
		start(t, st, err, false, f)
	})
	t.Run("pgx", func(t *testing.T) {
		t.Parallel()
		dsn, schema := pgstore.New(t)
		st, err := postgres.OpenPool(context.Background(), pgtest.OpenPool(t, dsn, 0), postgres.Options{Schema: schema, Migrate: true})
		start(t, st, err, false, f)
	})
}

func start(t *testing.T, st interface {
	store.Store
	Close() error
	DB() *sql.DB
}, err error, ofSQLite bool, f func(*bed)) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	b := &bed{T: t, st: st, db: st.DB(), sqlite: ofSQLite, stop: func() {}}
	b.job = reconcile.Job[order]{Name: "reconcile.orders", Kind: paid, Source: b.source, Lookback: 48 * time.Hour, Missing: reconcile.Enqueue}
	b.config = consumer.Config{
		Logger: slog.New(slog.DiscardHandler),
		Retry:  retry.Policy{MaxAttempts: 3, Backoff: retry.Backoff{Initial: 10 * time.Millisecond, Max: 10 * time.Millisecond, Factor: 1}},
	}
	b.exec("CREATE TABLE effects (id INTEGER NOT NULL)")
	b.start()
	defer func() { b.stop() }()
	f(b)
	b.stop()
	report, err := st.(store.Checker).Check(context.Background())
	if err != nil || !report.OK() {
		b.Errorf("check: %+v, %v", report, err)
	}
}

// row is what others know of the last run.
func (b *bed) row() store.Schedule {
	b.Helper()
	row, found, err := b.st.Operations().Schedules.Get(b.Context(), b.job.Name)
	if err != nil || !found {
		b.Fatal(found, err)
	}
	return row
}

// start starts a process: webhooks, ticks and the consumer.
func (b *bed) start() {
	b.Helper()
	b.hooks = memsource.New()
	ticks, err := schedule.NewSource(b.st, schedule.Options{Logger: b.config.Logger, Schedules: []schedule.Schedule{{Name: b.job.Name, Cron: "0 0 1 1 *", Within: time.Hour}}})
	if err != nil {
		b.Fatal(err)
	}
	ticks.Hurry()
	c, err := consumer.New("billing", b.st, b.config)
	if err != nil {
		b.Fatal(err)
	}
	consumer.Handle(c, "orders", func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[order]) error {
		if m.Body.Total == "bad" {
			return retry.Permanent(errors.New("bad"))
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO effects (id) VALUES ($1)", m.Body.ID)
		return err
	}, consumer.From(b.hooks), paid.Option())
	reconcile.Handle(c, ticks, b.job)
	b.c = c
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	b.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
		_ = ticks.Close()
	})
}

// now is the database's time.
func (b *bed) now() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return time.Now().Add(b.ahead)
}

// pass has time go by while no process runs.
func (b *bed) pass(d time.Duration) {
	b.Helper()
	b.stop()
	b.shift(d)
	b.start()
}

// shift has time go by.
func (b *bed) shift(d time.Duration) {
	b.Helper()
	b.mu.Lock()
	b.ahead += d
	ahead := b.ahead
	b.mu.Unlock()
	if b.sqlite {
		b.exec("UPDATE headrace_clock SET shift_us = $1", ahead.Microseconds())
	} else if err := pgtest.ShiftClock(context.Background(), b.db, ahead); err != nil {
		b.Fatal(err)
	}
}

// source is the shop as a Source, in its order.
func (b *bed) source(ctx context.Context, w reconcile.Window) iter.Seq2[reconcile.Item[order], error] {
	return func(yield func(reconcile.Item[order], error) bool) {
		b.mu.Lock()
		all, read := slices.Clone(b.shop), b.read
		b.mu.Unlock()
		for n, item := range all {
			if !item.At.IsZero() && (item.At.Before(w.From) || !item.At.Before(w.To)) {
				continue
			}
			if read != nil {
				if err := read(n); err != nil {
					yield(reconcile.Item[order]{}, err)
					return
				}
			}
			if !yield(item, nil) {
				return
			}
		}
	}
}

// sell has the shop sell orders, ago.
func (b *bed) sell(ago time.Duration, ids ...int) {
	at := b.now().Add(-ago)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range ids {
		b.shop = append(b.shop, reconcile.Item[order]{Value: order{ID: id, Total: "9.90"}, At: at})
	}
}

// hook sends webhooks for orders, and waits until the consumer has them.
func (b *bed) hook(total string, ids ...int) {
	b.Helper()
	for _, id := range ids {
		payload, err := json.Marshal(order{ID: id, Total: total, Note: "a webhook"})
		if err != nil {
			b.Fatal(err)
		}
		m := b.hooks.Deliver("orders", fmt.Sprint("hook-", id), payload, nil)
		select {
		case <-m.Acked():
		case <-time.After(bound):
			b.Fatal("a webhook is not acknowledged")
		}
	}
}

// tick asks for a tick, waits for its end, and returns its answer; nil if it is dead.
func (b *bed) tick() *reconcile.Result {
	b.Helper()
	b.pass(2 * time.Minute) // its key is newer than that of the last one
	b.until("the schedule is declared", func() bool {
		return schedule.Fire(context.Background(), b.st, b.job.Name, "ana") == nil
	})
	var key string
	b.until("the tick has come", func() bool {
		return b.db.QueryRow("SELECT key FROM headrace_inbox WHERE scope = $1 AND key > $2 ORDER BY key DESC LIMIT 1", "billing/"+b.job.Name,
			schedule.ID(b.job.Name, b.now().Add(-time.Minute))).Scan(&key) == nil
	})
	return b.answer(key)
}

// answer waits for the end of a tick.
func (b *bed) answer(key string) *reconcile.Result {
	b.Helper()
	id := inbox.ID{Scope: "billing/" + b.job.Name, Key: key}
	var entry inbox.Entry
	b.until("the tick has ended", func() bool {
		rows, err := b.st.Operations().Answers.Find(context.Background(), []inbox.ID{id})
		if err != nil || len(rows) != 1 {
			b.Fatal(rows, err)
		}
		entry = rows[0]
		return entry.State != inbox.Waiting
	})
	if entry.State != inbox.Done {
		return nil
	}
	value, err := b.st.Operations().Answers.Get(context.Background(), id)
	if err != nil {
		b.Fatal(err)
	}
	r := &reconcile.Result{}
	if err := json.Unmarshal(value, r); err != nil {
		b.Fatal(err)
	}
	return r
}

// says fails unless a tick has an answer with these numbers.
func (b *bed) says(r *reconcile.Result, checked, missing, enqueued int) {
	b.Helper()
	if r == nil {
		b.Fatalf("the tick has no answer: %v", b.letters(""))
	}
	if r.Checked != checked || r.Missing != missing || r.Enqueued != enqueued || r.From.IsZero() || len(r.Keys) != min(missing, 100) {
		b.Errorf("%+v, want %d, %d, %d", r, checked, missing, enqueued)
	}
}

// letters are the open dead letters of a handler, of all with "".
func (b *bed) letters(handler string) (open []dlq.Letter) {
	b.Helper()
	list, err := b.st.Letters().List(context.Background(), dlq.Filter{State: dlq.Open}, 0, 100)
	if err != nil {
		b.Fatal(err)
	}
	for _, l := range list {
		if handler == "" || l.Handler == handler {
			open = append(open, l)
		}
	}
	return open
}

// once fails unless each order is applied once, and nothing waits.
func (b *bed) once(ids ...int) {
	b.Helper()
	b.until(fmt.Sprintf("%d orders are applied", len(ids)), func() bool {
		return b.count("SELECT count(DISTINCT id) FROM effects") >= len(ids) && b.count("SELECT count(*) FROM headrace_backlog") == 0
	})
	if n := b.count("SELECT count(*) FROM effects"); n != len(ids) {
		b.Errorf("%d effects of %d orders", n, len(ids))
	}
	for _, id := range ids {
		if n := b.count("SELECT count(*) FROM effects WHERE id = $1", id); n != 1 {
			b.Errorf("order %d is applied %d times", id, n)
		}
	}
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

func (b *bed) until(what string, cond func() bool) {
	b.Helper()
	for end := time.Now().Add(bound); !cond(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			b.Fatalf("not within %s: %s", bound, what)
		}
	}
}

// numbers are from to to.
func numbers(from, to int) (list []int) {
	for n := from; n <= to; n++ {
		list = append(list, n)
	}
	return list
}
