package storetest

import (
	"sync"
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

// Where two transactions write at once, they meet at the row of a lease (TRAPS,
// Databases: a stalled attempt and its rescue both committed).
var fenceTests = []test{
	{name: "a fence waits for a takeover, and fails if it commits", run: fenceAfterTakeover, needs: concurrentWriters},
	{name: "a fence waits for a takeover, and holds if it rolls back", run: fenceAfterRollback, needs: concurrentWriters},
	{name: "a takeover passes over a row that is fenced", run: fenceBeforeTakeover, needs: concurrentWriters},
	{name: "Extend does not wait for a row that is fenced, or claimed", run: fenceExtend, needs: concurrentWriters},
	{name: "the idle limit frees the row of a stopped process", run: fenceIdle, needs: serverLimits},
	{name: "of two holders one commits", run: fenceOne},
}

// ended leases a under "old", for a term that is over.
func (b *bundle) ended() {
	b.Helper()
	b.offer(item("a"))
	b.lease("old", time.Minute, 1)
	b.shift(time.Hour)
}

// complete is what a holder commits.
func (b *bundle) complete(t *txn.Txn) {
	b.Helper()
	b.move(t, inbox.Waiting, inbox.Done, "a")
	b.exec(t, "INSERT INTO {{schema}}.effects (scope, key) VALUES ('s', 'a')")
	b.exec(t, "DELETE FROM {{schema}}.headrace_backlog WHERE key = 'a'")
}

// fenceBehind fences while takeover has the row, ends takeover, and returns the answer.
func (b *bundle) fenceBehind(end func(takeover *txn.Txn)) (held bool) {
	b.Helper()
	b.ended()
	takeover, late := b.begin(), b.begin()
	b.wantKeys("taken over", b.leaseIn(takeover, "new", time.Hour, 1), "a")
	l := b.leaseOf("a", "old")
	answer := make(chan error, 1)
	var wait sync.WaitGroup
	wait.Go(func() {
		var err error
		held, err = b.leases().Fence(b.ctx, late, l, txn.Limits{})
		answer <- err
	})
	b.awaitWaiters(1)
	end(takeover)
	b.must(receive(b, answer))
	wait.Wait()
	late.Rollback()
	return held
}

//evidence:lease
func fenceAfterTakeover(b *bundle) {
	if b.fenceBehind(func(t *txn.Txn) { b.commit(t) }) {
		b.Error("the old holder passes the fence after a takeover")
	}
}

func fenceAfterRollback(b *bundle) {
	if !b.fenceBehind((*txn.Txn).Rollback) {
		b.Error("a takeover that was rolled back took the lease")
	}
}

//evidence:lease
func fenceBeforeTakeover(b *bundle) {
	b.ended()
	late, takeover := b.begin(), b.begin()
	if !b.fence(late, "a", "old") {
		b.Fatal("not held")
	}
	b.wantKeys("taken over while it is fenced", b.leaseIn(takeover, "new", time.Hour, 1))
	takeover.Rollback()
	b.complete(late)
	b.commit(late)
	b.wantKeys("left", b.lease("new", time.Hour, 1))
}

func fenceExtend(b *bundle) {
	b.ended()
	for name, hold := range map[string]func(*txn.Txn){
		"fenced":  func(t *txn.Txn) { b.fence(t, "a", "old") },
		"claimed": func(t *txn.Txn) { b.leaseIn(t, "new", time.Hour, 1) },
	} {
		holder, beat := b.begin(), b.begin()
		hold(holder)
		extended, locked, err := b.leases().Extend(b.ctx, beat, []backlog.Lease{b.leaseOf("a", "old")}, time.Hour)
		if err != nil || len(extended) != 0 || len(locked) != 1 || locked[0] != b.leaseOf("a", "old") {
			b.Errorf("while it is %s: extended %v, locked %v, %v", name, extended, locked, err)
		}
		beat.Rollback()
		holder.Rollback()
	}
}

//evidence:abandoned
func fenceIdle(b *bundle) {
	b.ended()
	stopped := b.begin()
	if held, err := b.leases().Fence(b.ctx, stopped, b.leaseOf("a", "old"), txn.Limits{Idle: brief}); err != nil || !held {
		b.Fatalf("Fence: %t, %v", held, err)
	}
	b.await("the row of a stopped process", func() bool { return len(b.lease("new", time.Hour, 1)) == 1 })
}

// fenceOne: the holder that lost its lease and the one that took over both come to
// commit, in both orders.
//
//evidence:lease
func fenceOne(b *bundle) {
	b.ended()
	b.lease("new", time.Hour, 1)
	for _, token := range []string{"old", "new", "old"} {
		t := b.begin()
		if b.fence(t, "a", token) {
			b.complete(t)
			b.commit(t)
		} else if token == "new" {
			b.Error("the holder does not pass the fence")
		}
		t.Rollback()
	}
	if n := b.count(b.DB, "SELECT count(*) FROM {{schema}}.effects"); n != 1 {
		b.Errorf("%d effects", n)
	}
}
