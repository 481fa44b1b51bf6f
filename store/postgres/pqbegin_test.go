package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/txn"
)

// lateBegins returns a store of one connection, on which BEGIN waits for the first statement: its last transaction
// began with a claim.
func lateBegins(t *testing.T) *bundle {
	t.Helper()
	b := setup(t, "open", "", postgres.Options{MaxConns: 1})
	b.exec("CREATE TABLE n (n bigint PRIMARY KEY)")
	b.SetIdleTime(time.Hour)
	b.claimAlone("before")
	return b
}

// tryClaim claims as for one message.
func (b *bundle) tryClaim(x *txn.Txn, key string) (inbox.Claimed, error) {
	claims := []inbox.Claim{{ID: inbox.ID{Scope: scope, Key: key}, Fingerprint: "print"}}
	got, err := b.Inbox().Claim(b.Context(), x, inbox.ClaimRequest{Claims: claims, LockTimeout: time.Second, Unguarded: true})
	if err != nil {
		return inbox.Claimed{}, err
	}
	return got[0], nil
}

// claimAlone runs a transaction of a claim.
func (b *bundle) claimAlone(key string) {
	b.Helper()
	x := b.begin()
	if got, err := b.tryClaim(x, key); err != nil || got.Result != inbox.Won || x.ID() == "" {
		b.Fatalf("claim %s: %+v, transaction %q, %v", key, got, x.ID(), err)
	}
	if err := b.Commit(b.Context(), x, nil); err != nil {
		b.Fatal(err)
	}
}

// keys returns how many messages are claimed.
func (b *bundle) keys() int { return one[int](b, b.db, "SELECT count(*) FROM headrace_inbox") }

// With lib/pq a message alone makes two round trips beside those of its handler.
func TestRoundTripsOfLibPQ(t *testing.T) {
	b := setup(t, "open", "", postgres.Options{})
	p, through := newProxy(t, b.dsn)
	b.Store = connect(t, "open", through, postgres.Options{Schema: b.schema, MaxConns: 1})
	b.SetIdleTime(time.Hour)
	least := func() (trips int) { // of some transactions: after txn.Replan one prepares the claim again
		trips = math.MaxInt
		for range 5 {
			before := p.sent.Load()
			b.claimAlone(strconv.Itoa(b.keys()))
			trips = min(trips, int(p.sent.Load()-before))
		}
		return trips
	}
	if n := least(); n != 2 {
		t.Errorf("%d round trips", n)
	}
	b.SetIdleTime(0)
	if n := least(); n != 3 {
		t.Errorf("%d round trips after an idle time", n)
	}
}

// DESIGN §3 Claim: a BEGIN that fails lets no claim commit that travels with it, nor a later statement. The next
// transaction works.
//
//evidence:transaction
func TestBeginOfLibPQThatFails(t *testing.T) {
	b := lateBegins(t)
	b.BreakBegins(true)
	for what, first := range map[string]func(x *txn.Txn) error{
		"a claim":                   func(x *txn.Txn) error { _, err := b.tryClaim(x, "k"); return err },
		"a statement":               func(x *txn.Txn) error { _, err := x.ExecContext(t.Context(), "INSERT INTO n VALUES (1)"); return err },
		"a prepared statement":      func(x *txn.Txn) error { _, err := x.PrepareContext(t.Context(), "SELECT $1::int"); return err },
		"a handler's use of lib/pq": func(x *txn.Txn) error { return x.Raw(func(any) error { return nil }) },
	} {
		x := b.begin()
		if err := first(x); err == nil {
			t.Errorf("%s in a transaction that has not begun", what)
		}
		if _, err := x.ExecContext(t.Context(), "INSERT INTO n VALUES (2)"); err == nil {
			t.Errorf("%s: a later statement", what)
		}
		if err := b.Commit(t.Context(), x, nil); !errors.Is(err, txn.ErrRolledBack) {
			t.Errorf("%s: commit: %v", what, err)
		}
		b.BreakBegins(false)
		b.claimAlone("after " + what)
		b.BreakBegins(true)
	}
	if got := b.numbers(); got != "" || b.keys() != 5 {
		t.Errorf("committed %q and %d keys", got, b.keys())
	}
}

// Whatever the first statement is, it is in the transaction: one that an earlier transaction has prepared as well.
//
//evidence:transaction
func TestFirstStatementIsInTheTransaction(t *testing.T) {
	b := lateBegins(t)
	for i := range 4 { // from the third time on it is prepared
		x := b.begin()
		if _, err := x.ExecContext(t.Context(), "INSERT INTO n VALUES ($1)", i); err != nil {
			t.Fatal(err)
		}
		x.Rollback()
		b.claimAlone(fmt.Sprint("exec ", i))
		y := b.begin()
		if got := one[int](b, y, "INSERT INTO n VALUES ($1) RETURNING n", i); got != i {
			t.Error(got)
		}
		y.Rollback()
		b.claimAlone(fmt.Sprint("query ", i))
		z := b.begin()
		if err := headrace.NewTx(z, headrace.TxOptions{}).Nested(t.Context(), func(ctx context.Context, tx *headrace.Tx) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO n VALUES ($1)", i)
			return err
		}); err != nil {
			t.Error(err)
		}
		z.Rollback()
		b.claimAlone(fmt.Sprint("nested ", i))
	}
	if got := b.numbers(); got != "" {
		t.Errorf("committed %s", got)
	}
	if err := b.Commit(t.Context(), b.begin(), nil); err != nil {
		t.Errorf("a commit of nothing: %v", err)
	}
	if n := one[int](b, b.DB(), "SELECT count(*) FROM headrace_inbox"); n != 13 {
		t.Errorf("%d keys", n)
	}
	b.claimAlone("last")
}

// A claim that is lost, refused or waits too long ends as one whose BEGIN travelled alone, and the connection goes on.
// Keys are text of any kind.
func TestClaimWithBegin(t *testing.T) {
	b := lateBegins(t)
	x := b.begin()
	if got, err := b.tryClaim(x, "before"); err != nil || got.Result != inbox.Lost || got.Entry.Fingerprint != "print" || x.ID() == "" {
		t.Errorf("%+v, %v", got, err)
	}
	x.Rollback()
	b.claimAlone("it's; \\'--$1\n' \u2028 日本 E'")
	holder, err := b.db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holder.Exec("INSERT INTO headrace_inbox (scope, key, fingerprint, state) VALUES ($1, 'held', '', 'done')", scope); err != nil {
		t.Fatal(err)
	}
	for _, end := range []func(y *txn.Txn) error{
		func(y *txn.Txn) error { y.Rollback(); return y.Lost() },
		func(y *txn.Txn) error {
			if err := b.Commit(t.Context(), y, nil); !errors.Is(err, txn.ErrRolledBack) {
				t.Errorf("a commit: %v", err)
			}
			return nil
		},
	} {
		y := b.begin()
		if _, err := b.tryClaim(y, "held"); txn.Classify(err) != txn.LockTimeout {
			t.Errorf("a key that another transaction holds: %v", err)
		}
		if err := end(y); err != nil {
			t.Error(err)
		}
	}
	_ = holder.Rollback()
	b.claimAlone("held")
	if n := one[int](b, b.db, "SELECT count(*) FROM headrace_inbox WHERE key = $1", "it's; \\'--$1\n' \u2028 日本 E'"); n != 1 || b.keys() != 3 {
		t.Errorf("%d and %d keys", n, b.keys())
	}
}
