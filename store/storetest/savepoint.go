package storetest

import (
	"errors"

	"github.com/headrace/headrace/store/txn"
)

//evidence:nested
func savepoint(b *bundle) {
	t := b.begin()
	b.win(t, "a")
	before := t.Savepoint("suite")
	b.must(before.Set(b.ctx))
	b.effect(t, "undone")
	_, err := t.ExecContext(b.ctx, "SELECT no_such_column")
	if err == nil {
		b.Fatal("the statement did not fail")
	}
	b.must(before.RollbackTo(b.ctx))
	b.must(before.Release(b.ctx))
	b.effect(t, "a")
	b.commit(t)
	b.wantCommitted("a", true, 0)
	if n := b.count(b.DB, "SELECT count(*) FROM {{schema}}.effects"); n != 1 {
		b.Errorf("%d effects, want the one outside of the savepoint", n)
	}
}

// savepointMove is two statements in one message, on any driver.
func savepointMove(b *bundle) {
	t := b.begin()
	s, inner := t.Savepoint("suite"), t.Savepoint("suite_within")
	b.must(s.Set(b.ctx))
	for _, key := range []string{"a", "b", "c"} {
		b.effect(t, key)
		if key != "c" {
			b.must(s.Move(b.ctx))
		}
	}
	b.must(inner.Set(b.ctx))
	b.effect(t, "d")
	b.must(s.RollbackTo(b.ctx)) // the inner one is gone with it
	b.effect(t, "e")
	b.commit(t)
	if n := b.count(b.DB, "SELECT count(*) FROM {{schema}}.effects WHERE key IN ('a', 'b', 'e')"); n != 3 {
		b.Errorf("%d effects are kept, want 3", n)
	}
	if n := b.count(b.DB, "SELECT count(*) FROM {{schema}}.effects"); n != 3 {
		b.Errorf("%d effects in all, want 3", n)
	}
}

// checkDeferred: whose statement violates a deferred constraint shows before COMMIT. What
// is repaired later is no violation at COMMIT.
//
//evidence:culprit
func checkDeferred(b *bundle) {
	b.exec(b.DB, "CREATE TABLE {{schema}}.parents (id integer PRIMARY KEY)")
	b.exec(b.DB, "CREATE TABLE {{schema}}.children (parent integer REFERENCES {{schema}}.parents (id) DEFERRABLE INITIALLY DEFERRED)")
	t := b.begin()
	check := func() error {
		ok, err := t.CheckDeferred(b.ctx)
		if !ok {
			b.Error("it cannot be checked")
		}
		return err
	}
	b.win(t, "a")
	b.must(check())
	before := t.Savepoint("suite")
	b.must(before.Set(b.ctx))
	b.exec(t, "INSERT INTO {{schema}}.children (parent) VALUES (1)")
	var state interface{ SQLState() string }
	if err := check(); !errors.As(err, &state) || state.SQLState() != "23503" {
		b.Errorf("a violated constraint: %v", err)
	}
	b.must(before.RollbackTo(b.ctx))
	b.must(check())
	b.exec(t, "INSERT INTO {{schema}}.children (parent) VALUES (2)") // deferred as before
	b.exec(t, "INSERT INTO {{schema}}.parents (id) VALUES (2)")
	b.must(check())
	b.effect(t, "a")
	b.commit(t)
	b.wantCommitted("a", true, 0)
	if n := b.count(b.DB, "SELECT count(*) FROM {{schema}}.children"); n != 1 {
		b.Errorf("%d children", n)
	}
}

func checkDeferredNot(b *bundle) {
	b.in(func(t *txn.Txn) {
		if ok, err := t.CheckDeferred(b.ctx); ok || err != nil {
			b.Errorf("%t, %v", ok, err)
		}
		b.must(t.Restore(b.ctx))
	})
}
