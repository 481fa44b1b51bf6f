package dlq_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/internal/pgtest/pgstore"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/postgres"
)

func openPostgres(t *testing.T) store.Store {
	dsn, schema := pgtest.New(t)
	return pgstore.Open(t, dsn, postgres.Options{Schema: schema, Migrate: true, MaxConns: 10})
}

// DESIGN, Order: a waiting message that is not committed yet is invisible, so a redrive
// waits for the order key first and looks in a later statement.
func TestRedriveWaitsForTheOrderKey(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	st := openPostgres(t)
	b := &bench{T: t, ctx: ctx, st: st, desk: dlq.NewDesk(st)}
	b.die(letter("m2", strict("a")))

	// A verdict that makes m1 wait, as far as before its commit.
	verdict, err := st.Begin(ctx)
	b.must(err)
	defer verdict.Rollback()
	m1 := letter("m1", strict("a"))
	b.must(st.Backlog().Order.Lock(ctx, verdict, []backlog.OrderKey{{Scope: m1.Delivery.Scope, Key: "a"}}))
	_, err = st.Inbox().Record(ctx, verdict, inbox.Entry{ID: m1.ID(), State: inbox.Waiting, Fingerprint: "f"})
	b.must(err)
	b.must(st.Backlog().Put(ctx, verdict, []backlog.Item{{Consumer: m1.Consumer, Handler: m1.Handler, Delivery: m1.Delivery, Strict: true}}))
	var pid int
	b.must(verdict.QueryRowContext(ctx, "SELECT pg_backend_pid()").Scan(&pid))

	ended := make(chan error, 1)
	go func() {
		_, err := b.desk.Redrive(ctx, everything)
		ended <- err
	}()
	b.awaitBlocked(pid, ended)
	b.must(st.Commit(ctx, verdict, nil))
	b.must(<-ended)
	if got := b.depth(); got != (backlog.Depth{Ready: 1, Blocked: 1}) {
		t.Errorf("%+v", got)
	}
	b.check()
}

// awaitBlocked returns when a session waits for the one of pid, and fails the test if
// the work ends before.
func (b *bench) awaitBlocked(pid int, ended <-chan error) {
	b.Helper()
	db := pgtest.OpenDB(b.T, "postgres", os.Getenv(pgtest.Variable))
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		var waiters int
		b.must(db.QueryRowContext(b.ctx, "SELECT count(*) FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))", pid).Scan(&waiters))
		if waiters > 0 {
			return
		}
		select {
		case err := <-ended:
			b.Fatalf("the redrive did not wait: %v", err)
		case <-tick.C:
		}
	}
}
