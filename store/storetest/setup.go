package storetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/headrace/headrace/internal/sqlfile"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// waitTimeout bounds every wait of a test for something that must happen.
const waitTimeout = 2 * time.Minute

// bundle is what a test works with. Its methods fail the test on an error.
type bundle struct {
	*testing.T
	Instance
	harness Harness
	ctx     context.Context
	// spoilt says that the test left a violation on purpose.
	spoilt bool
	// warned says that what it left is a warning, and no violation.
	warned bool
}

func setup(t *testing.T, h Harness) *bundle {
	t.Helper()
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 4*waitTimeout)
	t.Cleanup(cancel)
	b := &bundle{T: t, harness: h, ctx: ctx, Instance: h.New(t)}
	b.exec(b.DB, "CREATE TABLE {{schema}}.effects (scope text NOT NULL, key text NOT NULL)")
	t.Cleanup(b.checkAtEnd)
	return b
}

// checkAtEnd runs the invariants of the store over what the test left.
func (b *bundle) checkAtEnd() {
	if b.spoilt {
		return
	}
	for _, rule := range b.check().Rules {
		if rule.Violations > 0 {
			b.Errorf("Check: rule %s (%s) is broken %d times, by %s", rule.Name, rule.Says, rule.Violations, rule.Example)
		}
	}
}

func (b *bundle) check() store.Report {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	report, err := b.Store.(store.Checker).Check(ctx)
	if err != nil {
		b.Fatalf("Check: %v", err)
	}
	if len(report.Rules) == 0 {
		b.Error("Check: no rules")
	}
	return report
}

// begin opens a transaction, which is rolled back at the end of the test if it is
// still open.
func (b *bundle) begin() *txn.Txn {
	b.Helper()
	t, err := b.Store.Begin(b.ctx)
	if err != nil {
		b.Fatalf("Begin: %v", err)
	}
	b.Cleanup(t.Rollback)
	return t
}

func (b *bundle) commit(t *txn.Txn, events ...outbox.Row) {
	b.Helper()
	if err := b.Store.Commit(b.ctx, t, events); err != nil {
		b.Fatalf("Commit: %v", err)
	}
}

// in runs f in a transaction and commits.
func (b *bundle) in(f func(t *txn.Txn)) {
	b.Helper()
	t := b.begin()
	f(t)
	b.commit(t)
}

// execer is what *sql.DB, *sql.Tx and *txn.Txn share.
type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// statement puts the schema's name into query.
func (b *bundle) statement(query string) string {
	s, err := sqlfile.Names{Schema: b.Schema}.Substitute(query)
	b.must(err)
	return s
}

// shift has the database's clock run ahead by d.
func (b *bundle) shift(d time.Duration) {
	b.Helper()
	b.must(b.Shift(b.ctx, d))
}

// exec runs a statement and returns how many rows it changed.
func (b *bundle) exec(q execer, query string, args ...any) int64 {
	b.Helper()
	result, err := q.ExecContext(b.ctx, b.statement(query), args...)
	if err != nil {
		b.Fatalf("%s: %v", query, err)
	}
	n, _ := result.RowsAffected()
	return n
}

// count runs a query for one number.
func (b *bundle) count(q execer, query string, args ...any) int {
	b.Helper()
	var n int
	if err := q.QueryRowContext(b.ctx, b.statement(query), args...).Scan(&n); err != nil {
		b.Fatalf("%s: %v", query, err)
	}
	return n
}

func (b *bundle) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// await asks done until it says yes. It is for what shows only in the database:
// a row that becomes due, a session that waits for a lock.
func (b *bundle) await(what string, done func() bool) {
	b.Helper()
	deadline := time.Now().Add(waitTimeout)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		if time.Now().After(deadline) {
			b.Fatalf("waited %s in vain for %s", waitTimeout, what)
		}
		<-tick.C
	}
}

// awaitWaiters returns when n sessions of the store wait for a lock.
func (b *bundle) awaitWaiters(n int) {
	b.Helper()
	b.await(fmt.Sprintf("%d sessions that wait for a lock", n), func() bool {
		waiters, err := b.Waiters(b.ctx)
		b.must(err)
		return waiters >= n
	})
}

// wantEnded fails the test unless t has ended: a discarded one ends beside us.
func (b *bundle) wantEnded(t *txn.Txn) {
	b.Helper()
	b.await("the end of a transaction", func() bool {
		_, err := t.ExecContext(b.ctx, "SELECT 1")
		return errors.Is(err, sql.ErrTxDone) || errors.Is(err, sql.ErrConnDone)
	})
}

// receive returns what comes out of c, and fails the test if nothing does.
func receive[T any](b *bundle, c <-chan T) T {
	b.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(waitTimeout):
		b.Fatalf("nothing came within %s", waitTimeout)
		panic("unreachable")
	}
}
