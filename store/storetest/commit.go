package storetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

var commitTests = []test{
	{name: "claim, effect and events are committed together", run: commitAll},
	{name: "a rollback leaves nothing", run: rollbackNothing},
	{name: "Discard leaves nothing and frees the keys", run: discardNothing},
	{name: "a transaction without a claim commits", run: commitWithoutClaim},
	{name: "use after the end is harmless", run: commitEnded},
	{name: "a handler that ended the transaction is found out", run: commitSwitched},
	{name: "a handler that ended the transaction of a drain is found out", run: commitSwitchedDrain},
	{name: "a failed statement whose error was swallowed is not committed", run: commitAborted, needs: func(c Capabilities) bool { return c.AbortsOnError }},
	{name: "a failed statement leaves the transaction usable", run: commitAfterFailure, needs: func(c Capabilities) bool { return !c.AbortsOnError }},
	{name: "events that cannot be written are a rollback", run: commitBadEvent},
	{name: "a constraint that fails at COMMIT is a rollback", run: commitDeferred},
	{name: "a commit under a dead context has ended, either way", run: commitDeadContext},
	{name: "the transaction outlives the context of Begin", run: beginContext},
	{name: "statements see what was committed before them", run: readCommitted, needs: concurrentWriters},
	{name: "a savepoint keeps what was before it", run: savepoint},
	{name: "a savepoint moves, and keeps what was done since", run: savepointMove},
	{name: "deferred constraints are checked before COMMIT, and stay deferred", run: checkDeferred, needs: func(c Capabilities) bool { return c.ChecksDeferred }},
	{name: "deferred constraints cannot be checked before COMMIT", run: checkDeferredNot, needs: func(c Capabilities) bool { return !c.ChecksDeferred }},
}

func (b *bundle) effect(t *txn.Txn, key string) {
	b.Helper()
	b.exec(t, "INSERT INTO {{schema}}.effects (scope, key) VALUES ($1, $2)", scope, key)
}

// wantCommitted compares what an outsider sees of key: the inbox row, one effect,
// and events.
func (b *bundle) wantCommitted(key string, committed bool, events int) {
	b.Helper()
	effects := b.count(b.DB, "SELECT count(*) FROM {{schema}}.effects WHERE key = $1", key)
	rows := b.count(b.DB, "SELECT count(*) FROM {{schema}}.headrace_outbox")
	state := b.state(key)
	if got := state == inbox.Done; got != committed {
		b.Errorf("the inbox row of %q is in state %q; committed should be %t", key, state, committed)
	}
	if (effects == 1) != committed || effects > 1 {
		b.Errorf("%d effects of %q; committed should be %t", effects, key, committed)
	}
	if rows != events {
		b.Errorf("%d rows in the outbox, want %d", rows, events)
	}
}

func events(n int) []outbox.Row {
	rows := make([]outbox.Row, n)
	for i := range rows {
		rows[i] = outbox.RowOf(event("invoices", "k", i))
	}
	return rows
}

//evidence:one-commit
func commitAll(b *bundle) {
	t := b.begin()
	b.win(t, "a")
	b.effect(t, "a")
	b.commit(t, events(3)...)
	b.wantCommitted("a", true, 3)
}

//evidence:one-commit
func rollbackNothing(b *bundle) {
	t := b.begin()
	b.win(t, "a")
	b.effect(t, "a")
	b.must(b.Store.Outbox().Insert(b.ctx, t, events(2)))
	b.fail(t, "a")
	b.record(t, "b", inbox.Waiting)
	b.put(t, item("b"))
	b.record(t, "c", inbox.Dead)
	b.insert(t, letter("c"))
	t.Rollback()
	b.wantCommitted("a", false, 0)
	for _, query := range []string{
		"SELECT count(*) FROM {{schema}}.headrace_inbox", "SELECT count(*) FROM {{schema}}.headrace_attempts",
		"SELECT count(*) FROM {{schema}}.headrace_backlog", "SELECT count(*) FROM {{schema}}.headrace_dead_letters",
	} {
		if n := b.count(b.DB, query); n != 0 {
			b.Errorf("%s: %d", query, n)
		}
	}
}

// discardNothing: the claim that follows waits until the discarded one is gone.
func discardNothing(b *bundle) {
	t := b.begin()
	b.win(t, "a")
	b.effect(t, "a")
	t.Discard()
	b.in(func(t *txn.Txn) { b.win(t, "a"); b.effect(t, "a") })
	b.wantCommitted("a", true, 0)
}

func commitWithoutClaim(b *bundle) {
	t := b.begin()
	b.effect(t, "a")
	b.commit(t, events(1)...)
	if n := b.count(b.DB, "SELECT count(*) FROM {{schema}}.effects"); n != 1 {
		b.Errorf("%d effects, want 1", n)
	}
	b.commit(b.begin()) // one without a statement
}

func commitEnded(b *bundle) {
	t := b.begin()
	b.win(t, "a")
	b.effect(t, "a")
	b.commit(t)
	t.Rollback()
	t.Discard()
	if err := b.Store.Commit(b.ctx, t, nil); err == nil || errors.Is(err, txn.ErrCommitUnknown) {
		b.Errorf("the second commit: %v", err)
	}
	b.wantCommitted("a", true, 0)

	for name, end := range map[string]func(*txn.Txn){"rolled back": (*txn.Txn).Rollback, "discarded": (*txn.Txn).Discard} {
		t := b.begin()
		b.win(t, name)
		end(t)
		end(t)
		if err := b.Store.Commit(b.ctx, t, events(1)); err == nil || errors.Is(err, txn.ErrCommitUnknown) {
			b.Errorf("commit of a transaction that was %s: %v", name, err)
		}
		b.wantCommitted(name, false, 0)
	}
}

// commitSwitched: without the comparison with the transaction of the claim, the
// claims of neighbours that have not run yet are durable, and lost. A store may
// refuse the attempt; a handler that passes over that is found out too.
//
//evidence:transaction
func commitSwitched(b *bundle) {
	run := func(queries ...string) func(*txn.Txn) {
		return func(t *txn.Txn) {
			for _, query := range queries {
				_, _ = t.ExecContext(b.ctx, b.statement(query))
			}
		}
	}
	const write = "INSERT INTO {{schema}}.effects (scope, key) VALUES ('late', 'late')"
	for _, handler := range []struct {
		name string
		end  func(*txn.Txn)
	}{
		{"committed", func(t *txn.Txn) { _ = t.SQL().Commit() }},
		{"rolled back", func(t *txn.Txn) { _ = t.SQL().Rollback() }},
		{"COMMIT", run("COMMIT")},
		{"ROLLBACK", run("ROLLBACK")},
		{"COMMIT, BEGIN", run("COMMIT", "BEGIN")},
		{"ROLLBACK, BEGIN", run("ROLLBACK", "BEGIN")},
		{"COMMIT, BEGIN, a write", run("COMMIT", "BEGIN", write)},
		{"ROLLBACK, BEGIN, a write", run("ROLLBACK", "BEGIN", write)},
	} {
		for _, rows := range [][]outbox.Row{nil, events(1), events(2)} {
			t := b.begin()
			b.claim(t, handler.name)
			handler.end(t)
			if err := b.Store.Commit(b.ctx, t, rows); !errors.Is(err, inbox.ErrSwitched) {
				b.Errorf("%s, %d events: Commit returned %v, want inbox.ErrSwitched", handler.name, len(rows), err)
			}
			b.wantEnded(t)
			if n := b.count(b.DB, "SELECT count(*) FROM {{schema}}.headrace_outbox"); n != 0 {
				b.Fatalf("%s: %d events are committed", handler.name, n)
			}
		}
	}
	if n := b.count(b.DB, "SELECT count(*) FROM {{schema}}.effects"); n != 0 {
		b.Errorf("%d effects that followed the end of the claim are committed", n)
	}
	b.in(func(t *txn.Txn) { b.win(t, "next") }) // the connections are sound
}

// commitSwitchedDrain: in the drain no claim comes first, but a transition.
//
//evidence:transaction
func commitSwitchedDrain(b *bundle) {
	for n, rows := range [][]outbox.Row{nil, events(1), events(2)} {
		key := fmt.Sprint("key-", n)
		b.park(key, inbox.Waiting)
		t := b.begin()
		b.move(t, inbox.Waiting, inbox.Done, key)
		b.remove(t, key)
		for _, query := range []string{"COMMIT", "BEGIN"} {
			_, _ = t.ExecContext(b.ctx, query)
		}
		if err := b.Store.Commit(b.ctx, t, rows); !errors.Is(err, inbox.ErrSwitched) {
			b.Errorf("%d events: Commit returned %v, want inbox.ErrSwitched", len(rows), err)
		}
		if n := b.count(b.DB, "SELECT count(*) FROM {{schema}}.headrace_outbox"); n != 0 {
			b.Errorf("%d events are committed", n)
		}
	}
	b.park("sound", inbox.Waiting)
	b.in(func(t *txn.Txn) { b.move(t, inbox.Waiting, inbox.Done, "sound"); b.remove(t, "sound") })
}

// commitAborted: a handler that swallows the error of a statement returns nil;
// the message must not be done (25P02).
//
//evidence:passed-over
func commitAborted(b *bundle) {
	for n, rows := range [][]outbox.Row{nil, events(1), events(2), nil} {
		t := b.begin()
		if n < 3 {
			b.win(t, "a")
		}
		b.effect(t, "a")
		if _, err := t.ExecContext(b.ctx, "SELECT no_such_column"); err == nil {
			b.Fatal("the statement did not fail")
		}
		err := b.Store.Commit(b.ctx, t, rows)
		if !errors.Is(err, txn.ErrRolledBack) && txn.Classify(err) != txn.Aborted {
			b.Errorf("Commit with %d events: %v, want a rollback", len(rows), err)
		}
		if errors.Is(err, txn.ErrCommitUnknown) || errors.Is(err, inbox.ErrSwitched) {
			b.Errorf("Commit with %d events: %v", len(rows), err)
		}
		b.wantEnded(t)
		b.wantCommitted("a", false, 0)
	}
}

func commitAfterFailure(b *bundle) {
	t := b.begin()
	b.win(t, "a")
	if _, err := t.ExecContext(b.ctx, "SELECT no_such_column"); err == nil {
		b.Fatal("the statement did not fail")
	}
	b.effect(t, "a")
	b.commit(t)
	b.wantCommitted("a", true, 0)
}

// commitBadEvent: the error comes from before COMMIT, and says nothing about it.
func commitBadEvent(b *bundle) {
	rows := events(2)
	rows[1].Shard = outbox.Shards
	t := b.begin()
	b.win(t, "a")
	b.effect(t, "a")
	err := b.Store.Commit(b.ctx, t, rows)
	if err == nil || errors.Is(err, txn.ErrCommitUnknown) || errors.Is(err, inbox.ErrSwitched) {
		b.Errorf("Commit of an event on shard %d: %v", outbox.Shards, err)
	}
	b.wantEnded(t)
	b.wantCommitted("a", false, 0)
}

//evidence:culprit
func commitDeferred(b *bundle) {
	b.exec(b.DB, "CREATE TABLE {{schema}}.parents (id integer PRIMARY KEY)")
	b.exec(b.DB, "CREATE TABLE {{schema}}.children (parent integer REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED)")
	t := b.begin()
	b.win(t, "a")
	b.effect(t, "a")
	b.exec(t, "INSERT INTO {{schema}}.children (parent) VALUES (1)")
	if err := b.Store.Commit(b.ctx, t, events(1)); !errors.Is(err, txn.ErrRolledBack) || errors.Is(err, txn.ErrCommitUnknown) {
		b.Errorf("Commit: %v, want txn.ErrRolledBack", err)
	}
	b.wantEnded(t)
	b.wantCommitted("a", false, 0)
	b.in(func(t *txn.Txn) { b.win(t, "a"); b.effect(t, "a") }) // nothing is left open
	b.wantCommitted("a", true, 0)
}

// commitDeadContext: a caller that gets an unknown commit claims again, and learns what
// happened.
//
//evidence:own-context
func commitDeadContext(b *bundle) {
	dead, cancel := context.WithCancel(b.ctx)
	cancel()
	t := b.begin()
	b.win(t, "a")
	b.effect(t, "a")
	err := b.Store.Commit(dead, t, nil)
	b.wantEnded(t)
	again := b.begin()
	won := b.claim(again, "a")[0].Result == inbox.Won
	again.Rollback()
	switch {
	case err == nil && won:
		b.Error("Commit returned nil, and nothing is committed")
	case errors.Is(err, txn.ErrRolledBack) && !won:
		b.Errorf("Commit returned %v, and it is committed", err)
	}
	b.wantCommitted("a", !won, 0)
}

func beginContext(b *bundle) {
	ctx, cancel := context.WithCancel(b.ctx)
	t, err := b.Store.Begin(ctx)
	b.must(err)
	b.Cleanup(t.Rollback)
	cancel()
	b.win(t, "a")
	b.effect(t, "a")
	b.commit(t)
	b.wantCommitted("a", true, 0)
	if t, err := b.Store.Begin(ctx); err == nil {
		t.Rollback()
		b.Error("Begin under a dead context succeeded")
	}
	b.must(b.Store.Ping(b.ctx))
	b.in(func(t *txn.Txn) { b.win(t, "b") })
}

// readCommitted: under REPEATABLE READ a new shard holder sees rows that are
// deleted already.
//
//evidence:isolation
func readCommitted(b *bundle) {
	const query = "SELECT count(*) FROM {{schema}}.effects"
	t := b.begin()
	if n := b.count(t, query); n != 0 {
		b.Fatalf("%d effects", n)
	}
	b.in(func(t *txn.Txn) { b.effect(t, "a") })
	if n := b.count(t, query); n != 1 {
		b.Errorf("%d effects in a statement after the commit, want 1", n)
	}
	t.Rollback()
}
