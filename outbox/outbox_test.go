package outbox_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/propagation"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/pgtest/pgstore"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/sqlite"
)

// database is one of the two stores.
type database struct {
	store.Store
	db *sql.DB
}

func (d database) DB() *sql.DB { return d.db }

// onEach runs test on each of the stores.
func onEach(t *testing.T, test func(t *testing.T, st database, ob *outbox.Outbox)) {
	t.Helper()
	t.Parallel()
	ctx := context.Background()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		st, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "outbox.db"), sqlite.Options{Migrate: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		test(t, database{st, st.DB()}, outbox.New(st.Outbox()))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		dsn, schema := pgstore.New(t)
		st := pgstore.Open(t, dsn, postgres.Options{Schema: schema, Migrate: true, MaxConns: 4})
		test(t, database{st, st.DB()}, outbox.New(st.Outbox()))
	})
}

var event = headrace.Event{Topic: "orders", Value: map[string]int{"id": 1}}

func count(t *testing.T, st store.Store) int64 {
	t.Helper()
	s, err := st.Outbox().Status(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return s.Ready + s.Delayed + s.Parked + s.Behind
}

// INVARIANTS 6: events stand or fall with the caller's transaction.
//
//evidence:event
func TestEventsAreCommittedWithTheTransaction(t *testing.T) {
	onEach(t, func(t *testing.T, st database, ob *outbox.Outbox) {
		ctx := context.Background()
		for _, commit := range []bool{false, true} {
			tx, err := st.DB().BeginTx(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			delayed := event
			delayed.Delay = 1e12
			if err := ob.Publish(ctx, tx, event, delayed, event); err != nil {
				t.Fatal(err)
			}
			want := int64(0)
			if end := tx.Rollback; commit {
				end, want = tx.Commit, 3
				if err := end(); err != nil {
					t.Fatal(err)
				}
			} else if err := end(); err != nil {
				t.Fatal(err)
			}
			if n := count(t, st); n != want {
				t.Errorf("commit %t: %d rows, want %d", commit, n, want)
			}
		}
	})
}

// Stand-ins for what other libraries offer, by the methods that they have.
type (
	beginner struct{ *sql.DB }            // sqlx.DB, bun.DB, gorm's pool of prepared statements
	nesting  struct{ *sql.Tx }            // bun.Tx: a transaction that can also begin
	wrapper  struct{ tx headrace.Execer } // a tracing wrapper
	embedded struct {
		DB *sql.DB
		*sql.Tx
	} // a transaction that knows its pool
)

func (nesting) BeginTx(context.Context, *sql.TxOptions) (nesting, error) { return nesting{}, nil }

func (w wrapper) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return w.tx.ExecContext(ctx, query, args...)
}

// Outbox writers take what is in a transaction, and refuse what would
// commit the event alone.
//
//evidence:event
func TestPublishNeedsATransaction(t *testing.T) {
	onEach(t, func(t *testing.T, st database, ob *outbox.Outbox) {
		ctx := context.Background()
		conn, err := st.DB().Conn(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range []headrace.Execer{st.DB(), conn, beginner{st.DB()}, nil, (*sql.Tx)(nil)} {
			if err := ob.Publish(ctx, q, event); !errors.Is(err, outbox.ErrNoTransaction) {
				t.Errorf("publish through a %T: %v, want ErrNoTransaction", q, err)
			}
		}
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
		tx, err := st.DB().BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range []headrace.Execer{tx, nesting{tx}, wrapper{tx}, embedded{st.DB(), tx}} {
			if err := ob.Publish(ctx, q, event); err != nil {
				t.Errorf("publish through a %T: %v", q, err)
			}
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if n := count(t, st); n != 4 {
			t.Errorf("%d rows, want 4", n)
		}
	})
}

// An event that cannot be meant is refused with all of its call, before anything is
// written: the transaction goes on.
func TestInvalidEventsWriteNothing(t *testing.T) {
	onEach(t, func(t *testing.T, st database, ob *outbox.Outbox) {
		ctx := context.Background()
		tx, err := st.DB().BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []headrace.Event{
			{Value: 1}, {Topic: "t"}, {Topic: "t", Value: make(chan int)}, {Topic: "t", Value: 1, Delay: -1},
		} {
			if err := ob.Publish(ctx, tx, event, bad); !errors.Is(err, headrace.ErrInvalidEvent) {
				t.Errorf("%+v: %v, want ErrInvalidEvent", bad, err)
			}
		}
		if err := ob.Publish(ctx, tx); err != nil {
			t.Errorf("no events: %v", err)
		}
		if err := ob.Publish(ctx, tx, event); err != nil {
			t.Errorf("a good event after the refusals: %v", err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if n := count(t, st); n != 1 {
			t.Errorf("%d rows, want 1", n)
		}
	})
}

// A handler's Tx keeps the events for the consumer's commit.
func TestPublishInAHandler(t *testing.T) {
	onEach(t, func(t *testing.T, st database, ob *outbox.Outbox) {
		ctx := context.Background()
		txn, err := st.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer txn.Rollback()
		tx := headrace.NewTx(txn, headrace.TxOptions{Trace: headrace.TraceContext{Parent: "00-p"}})
		if err := ob.Publish(ctx, tx, event); err != nil {
			t.Fatal(err)
		}
		events := tx.Events()
		if len(events) != 1 || events[0].Trace.Parent != "00-p" || string(events[0].Payload) != `{"id":1}` {
			t.Fatalf("gathered %+v", events)
		}
		if err := st.Commit(ctx, txn, []outbox.Row{outbox.RowOf(events[0])}); err != nil {
			t.Fatal(err)
		}
		if n := count(t, st); n != 1 {
			t.Errorf("%d rows, want 1", n)
		}
	})
}

// The trace of a request goes on in the event that it writes, unless the event has its own.
//
//evidence:trace
func TestPublishTakesTheSpanOfItsContext(t *testing.T) {
	const span, own = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-1bf7651916cd43dd8448eb211c80319c-c7ad6b7169203331-01"
	request := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": span})
	onEach(t, func(t *testing.T, st database, ob *outbox.Outbox) {
		tx, err := st.db.BeginTx(request, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }()
		if err := ob.Publish(request, tx, event, headrace.Event{Topic: "orders", Payload: []byte("{}"), Trace: headrace.TraceContext{Parent: own}}); err != nil {
			t.Fatal(err)
		}
		for _, parent := range []string{span, own} {
			var n int
			if err := tx.QueryRowContext(request, "SELECT count(*) FROM headrace_outbox WHERE trace_parent = $1", parent).Scan(&n); err != nil || n != 1 {
				t.Errorf("%d events with %s, want 1: %v", n, parent, err)
			}
		}
	})
}

func TestWake(t *testing.T) {
	onEach(t, func(t *testing.T, st database, ob *outbox.Outbox) {
		ob.Wake()
		ob.Wake() // never blocks
		<-st.Outbox().Signal().C()
		select {
		case <-st.Outbox().Signal().C():
			t.Error("two wake-ups without a reader are two")
		default:
		}
	})
}

// Rows of an order share a shard; rows without one go to all of them, many to each
// before the next.
func TestRowOf(t *testing.T) {
	row := func(topic, key string) int { return outbox.RowOf(headrace.Event{Topic: topic, OrderKey: key}).Shard }
	shards := map[int]bool{}
	for range 64 * outbox.Shards {
		if diff := cmp.Diff(row("orders", "42"), row("orders", "42")); diff != "" {
			t.Fatal(diff)
		}
		shards[row("orders", "")] = true
	}
	few := map[int]bool{}
	for range 16 {
		few[row("orders", "")] = true
	}
	if len(few) > 2 {
		t.Errorf("16 rows without an order key went to %d shards, want one, or two", len(few))
	}
	if len(shards) != outbox.Shards {
		t.Errorf("rows without an order key went to %d shards, want all", len(shards))
	}
}
