package relay_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headrace/headrace"
)

// Two relays on two handles of one database share the work: everything is
// published, in order, and nothing twice where a shard has one holder (PostgreSQL).
func TestTwoRelaysAtOnce(t *testing.T) {
	onEach(t, func(b *bundle) {
		o := b.options()
		o.BatchRows = 10
		other := &watched{realStore: b.open(b), board: b.board}
		_, stop1 := b.relay(b.st, o)
		_, stop2 := b.relay(other, o)
		for i := range 50 {
			var events []headrace.Event
			for key := range 10 {
				events = append(events, event("t", fmt.Sprint("k", key), fmt.Sprintf("k%d-%d", key, i)))
			}
			b.publish(events...)
			other.Outbox().Signal().Wake()
		}
		b.untilEmpty()
		stop1()
		stop2()
		got := b.sink.ids("t")
		for key := range 10 {
			var want []string
			for i := range 50 {
				want = append(want, fmt.Sprintf("k%d-%d", key, i))
			}
			if diff := cmp.Diff(want, having(got, fmt.Sprintf("k%d-", key))); diff != "" {
				b.Errorf("order of k%d (-want +got):\n%s", key, diff)
			}
		}
		if n := len(b.sink.all()); !b.single() && n != 500 {
			b.Errorf("%d publishes of 500 events", n)
		}
		b.sameOnEachPublish()
	})
}

// The same while the sink fails: what one relay holds, the other does not skip.
//
//evidence:event-order
func TestTwoRelaysUnderAFailingSink(t *testing.T) {
	onEach(t, func(b *bundle) {
		n := 0
		b.sink.refusing(func(string, string) error {
			if n++; n%7 == 0 {
				return errRefused
			}
			return nil
		})
		o := b.options()
		o.BatchRows = 10
		o.MaxAttempts = 1000
		other := &watched{realStore: b.open(b), board: b.board}
		b.relay(b.st, o)
		b.relay(other, o)
		for i := range 30 {
			b.publish(event("t", "a", fmt.Sprintf("a-%d", i)), event("t", "b", fmt.Sprintf("b-%d", i)), event("t", "", fmt.Sprint(i)))
			other.Outbox().Signal().Wake()
		}
		b.untilEmpty()
		got := b.sink.ids("t")
		for _, key := range []string{"a-", "b-"} {
			var want []string
			for i := range 30 {
				want = append(want, fmt.Sprint(key, i))
			}
			if diff := cmp.Diff(want, having(got, key)); diff != "" {
				b.Errorf("order of %s (-want +got):\n%s", key, diff)
			}
		}
	})
}

// single reports whether the store is one without a lock for each shard.
func (b *bundle) single() bool {
	_, single := b.st.Outbox().(interface{ SingleWriter() })
	return single
}

// onPostgres is for what cannot happen where there is one writer at a time.
func onPostgres(t *testing.T, test func(b *bundle)) {
	t.Parallel()
	test(setup(t, postgresDB(t)))
}

// pending writes events in a transaction that it leaves open.
func (b *bundle) pending(events ...headrace.Event) *sql.Tx {
	b.Helper()
	tx, err := b.st.DB().BeginTx(context.Background(), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = tx.Rollback() })
	if err := b.ob.Publish(context.Background(), tx, events...); err != nil {
		b.Fatal(err)
	}
	return tx
}

// DESIGN §3 Backlog and drain: a transaction that drew a lower id may commit after the relay has
// gone past it, and neither holds the others up nor is it skipped.
//
//evidence:late-row
func TestALateCommitter(t *testing.T) {
	onPostgres(t, func(b *bundle) {
		late := b.pending(event("t", "k", "late"))
		b.relay(b.st, b.options())
		b.publish(event("t", "k", "early"), event("t", "", "free"))
		b.untilEmpty()
		if err := late.Commit(); err != nil { // no relay is woken
			b.Fatal(err)
		}
		b.untilPolling("the late one is published", func() bool { return b.sink.times("late") == 1 })
	})
}

// The same in an order that is held: the late row comes before the held ones, and
// must not wait behind them for ever.
func TestALateCommitterOfAHeldOrder(t *testing.T) {
	onPostgres(t, func(b *bundle) {
		late := b.pending(series("t", "k", "late", 3)...)
		b.sink.refusing(only("bad"))
		o := b.options()
		o.MaxAttempts = 1
		b.relay(b.st, o)
		stop := b.company()
		b.publish(event("t", "k", "bad"), event("t", "k", "behind"))
		b.until("the order is parked", func() bool { s := b.status(); return s.Parked == 1 && s.Behind == 1 })
		if err := late.Commit(); err != nil {
			b.Fatal(err)
		}
		b.until("the late ones are published", func() bool { return len(having(b.sink.ids("t"), "late")) == 3 })
		stop()
		b.until("the others wait", func() bool { return total(b.status()) == 2 })
		if diff := cmp.Diff([]string{"late-0", "late-1", "late-2"}, b.sink.ids("t")); diff != "" {
			b.Errorf("published (-want +got):\n%s", diff)
		}
	})
}

// DESIGN §3 Backlog and drain: while a long snapshot keeps the deleted rows alive, the
// relay reads beyond them, and not again from the bottom each time.
func TestALongSnapshot(t *testing.T) {
	onPostgres(t, func(b *bundle) {
		snapshot, err := b.st.DB().BeginTx(context.Background(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = snapshot.Rollback() }()
		if _, err := snapshot.Exec("SELECT 1"); err != nil {
			b.Fatal(err)
		}
		watch := &limits{}
		for range 10 {
			b.publish(series("t", "one shard", "e", 200)...)
		}
		o := b.options()
		o.BatchRows = 20
		b.relay(&limited{watched: b.st, limits: watch}, o)
		b.untilEmpty()
		bottom := 0
		for _, after := range watch.afters {
			if after == 0 {
				bottom++
			}
		}
		if n := len(watch.afters); n < 50 || bottom > n/2 {
			b.Errorf("%d of %d reads began at the bottom", bottom, n)
		}
	})
}

// DESIGN §3 Claim: every transaction of the framework bounds how long it may idle,
// above what its round may take.
//
//evidence:abandoned
func TestTransactionsHaveAnIdleBound(t *testing.T) {
	onEach(t, func(b *bundle) {
		watch := &limits{}
		o := b.options()
		o.PublishTimeout = 20 * time.Second
		_, stop := b.relay(&limited{watched: b.st, limits: watch}, o)
		b.publish(event("t", "", "one"))
		b.untilEmpty()
		stop()
		if watch.idle < 50*time.Second || watch.idle > 2*time.Minute {
			b.Errorf("the transaction may idle for %s, with a timeout of 20 s for a publish", watch.idle)
		}
	})
}

// A sink may write into the same database, as one does that hands events to a
// consumer beside it. Where there is one writer at a time, no transaction of the
// relay may be open meanwhile.
func TestASinkThatWritesIntoTheDatabase(t *testing.T) {
	onEach(t, func(b *bundle) {
		ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
		defer cancel()
		if _, err := b.st.DB().ExecContext(ctx, "CREATE TABLE received (id text)"); err != nil {
			b.Fatal(err)
		}
		b.sink.write = func(id string) error {
			_, err := b.st.DB().ExecContext(ctx, "INSERT INTO received VALUES ($1)", id)
			return err
		}
		b.publish(series("t", "k", "e", 5)...)
		start := time.Now()
		b.relay(b.st, b.options())
		b.untilEmpty()
		if n := len(b.sink.all()); n != 5 || time.Since(start) > waitTimeout/8 {
			b.Errorf("%d publishes in %s, want 5 at once", n, time.Since(start))
		}
	})
}
