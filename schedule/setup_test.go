package schedule_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.uber.org/goleak"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/internal/pgtest/pgstore"
	"github.com/headrace/headrace/schedule"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bound is how long a test waits for what it demands.
const bound = time.Minute

// bed is a database whose clock a test moves.
type bed struct {
	*testing.T
	st     store.Store
	clock  store.Store // that of the source of the next process, if not st
	db     *sql.DB
	sqlite bool
	meter  metric.MeterProvider // of the source of the next process; may be nil
	mu     sync.Mutex
	alerts []alerts.Alert
	all    []*consumer.Consumer
}

// duplicates is how many ticks came to processes that were handled before.
func (b *bed) duplicates() (n int64) {
	for _, c := range b.all {
		n += c.Stats().Duplicates
	}
	return n
}

// onEachStore runs f on each database.
func onEachStore(t *testing.T, f func(*bed)) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), sqlite.Options{Migrate: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		run(f, &bed{T: t, st: st, db: st.DB(), sqlite: true})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		dsn, schema := pgstore.New(t)
		st := pgstore.Open(t, dsn, postgres.Options{Schema: schema, Migrate: true})
		run(f, &bed{T: t, st: st, db: st.DB()})
	})
}

func run(f func(*bed), b *bed) {
	b.exec("CREATE TABLE ticks (at TEXT NOT NULL, late BOOLEAN NOT NULL, fired BOOLEAN NOT NULL)")
	f(b)
	report, err := b.st.(store.Checker).Check(context.Background())
	if err != nil || !report.OK() {
		b.Errorf("check: %+v, %v", report, err)
	}
}

func (b *bed) exec(query string, args ...any) {
	b.Helper()
	if _, err := b.db.Exec(query, args...); err != nil {
		b.Fatalf("%s: %v", query, err)
	}
}

// set sets the clock of the database to a time, from which it goes on.
func (b *bed) set(at time.Time) {
	b.Helper()
	ahead := time.Until(at)
	if b.sqlite {
		b.exec("UPDATE headrace_clock SET shift_us = $1", ahead.Microseconds())
		return
	}
	if err := pgtest.ShiftClock(b.Context(), b.db, ahead); err != nil {
		b.Fatal(err)
	}
}

// process runs a consumer with a source of schedules, and returns what ends it.
func (b *bed) process(schedules ...schedule.Schedule) (stop func()) {
	b.Helper()
	return b.start(schedules, func(c *consumer.Consumer, src *schedule.Source, name string) {
		schedule.Handle(c, src, name, func(ctx context.Context, tx *headrace.Tx, t schedule.Tick) error { return insert(ctx, tx, t) })
	})
}

// insert records that a tick was handled.
func insert(ctx context.Context, tx *headrace.Tx, t schedule.Tick) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO ticks (at, late, fired) VALUES ($1, $2, $3)", schedule.ID(t.Name, t.At), t.Late, t.Fired)
	return err
}

// start is process with handlers of its own.
func (b *bed) start(schedules []schedule.Schedule, handle func(c *consumer.Consumer, src *schedule.Source, name string)) (stop func()) {
	b.Helper()
	quiet := slog.New(slog.DiscardHandler)
	clock := b.clock
	if clock == nil {
		clock = b.st
	}
	src, err := schedule.NewSource(clock, schedule.Options{Schedules: schedules, Logger: quiet, MeterProvider: b.meter, Alert: func(_ context.Context, a alerts.Alert) error {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.alerts = append(b.alerts, a)
		return nil
	}})
	if err != nil {
		b.Fatal(err)
	}
	src.Hurry()
	c, err := consumer.New("clock", b.st, consumer.Config{
		Logger: quiet, Key: inbox.JSON("order_id"), // which no tick has
		Retention: inbox.Retention{Off: true}, // the clock leaps by weeks while a process has a tick in hand
	})
	if err != nil {
		b.Fatal(err)
	}
	b.all = append(b.all, c)
	for _, s := range schedules {
		handle(c, src, s.Name)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-ended; err != nil {
				b.Error(err)
			}
			_ = src.Close()
		})
	}
	b.Cleanup(stop)
	return stop
}

// done returns the ids of the ticks that were handled, in the order of their times.
func (b *bed) done() (ids []string) {
	b.Helper()
	rows, err := b.db.Query("SELECT at FROM ticks ORDER BY at")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			b.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

func (b *bed) number(query string) (n int) {
	b.Helper()
	if err := b.db.QueryRow(query).Scan(&n); err != nil {
		b.Fatal(err)
	}
	return n
}

// until waits until n ticks are handled.
func (b *bed) until(n int) {
	b.Helper()
	b.eventually(fmt.Sprint(n, " ticks"), func() bool { return b.number("SELECT count(*) FROM ticks") >= n })
}

func (b *bed) eventually(what string, cond func() bool) {
	b.Helper()
	for end := time.Now().Add(bound); !cond(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			done := b.done()
			b.Fatalf("not within %s: %s; there are %d, the last %v", bound, what, len(done), done[max(0, len(done)-30):])
		}
	}
}
