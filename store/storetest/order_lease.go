package storetest

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/shard"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// A worker has the shard, and with it all ready rows of an order key. But the holder of a
// lease ends its row without the shard: so the two meet at that row.

// leasedHead leaves m1 of an order leased under "t", and m2 behind it ready.
func (b *bundle) leasedHead() {
	b.Helper()
	b.offer(ordered("m1", "k"))
	b.wantKeys("leased", b.lease("t", time.Hour, 1), "m1")
	b.wait(ordered("m2", "k"))
}

// end is what the holder of a lease does when its work is done.
func (b *bundle) end(t *txn.Txn) {
	b.Helper()
	b.finish(t, "m1")
	b.release(t, 10, "k")
	b.commit(t)
}

//evidence:strict
func orderBlockEnding(b *bundle) {
	b.leasedHead()
	holder, worker := b.begin(), b.begin()
	if !b.fence(holder, "m1", "t") {
		b.Fatal("not held")
	}
	b.exec(worker, "SET LOCAL lock_timeout = '5s'") // who waits for the row fails
	b.wantBlockedRows(worker, []int64{b.rowID(worker, "m2")})
	b.end(holder)
	b.commit(worker)
	b.wantKeys("ready", b.ready(), "m2")
}

//evidence:strict
func orderBlockFirst(b *bundle) {
	for _, commits := range []bool{true, false} {
		b.leasedHead()
		holder, worker := b.begin(), b.begin()
		b.block(worker, "m2")
		held := make(chan error, 1)
		var wait sync.WaitGroup
		l := b.leaseOf("m1", "t")
		wait.Go(func() {
			ok, err := b.leases().Fence(b.ctx, holder, l, txn.Limits{})
			if err == nil && !ok {
				err = fmt.Errorf("the lease is not held")
			}
			held <- err
		})
		b.awaitWaiters(1)
		if commits {
			b.commit(worker)
		} else {
			worker.Rollback()
		}
		b.must(receive(b, held))
		wait.Wait()
		b.end(holder)
		b.wantKeys("ready", b.ready(), "m2")
		b.in(func(t *txn.Txn) { b.finish(t, "m2"); b.exec(t, "DELETE FROM {{schema}}.headrace_inbox") })
	}
}

func orderBlockBeside(b *bundle) {
	b.leasedHead()
	b.wait(later(ordered("n1", "j"), time.Hour), ordered("n2", "j"))
	worker := b.begin()
	b.block(worker, "m2", "n2")
	beat := b.begin()
	extended, locked, err := b.leases().Extend(b.ctx, beat, []backlog.Lease{b.leaseOf("m1", "t")}, time.Hour)
	if err != nil || len(extended) != 1 || len(locked) != 0 {
		b.Errorf("extended %v, locked %v, %v", extended, locked, err)
	}
	b.commit(beat)
	b.shift(2 * time.Hour)
	if n := b.promote(1); n != 1 {
		b.Errorf("promoted %d rows", n)
	}
	b.commit(worker)
	b.in(func(t *txn.Txn) {
		if got := b.read(t, shard.Of("j"), 0, 10); len(got) != 1 || got[0].Delivery.Key != "n1" || !got[0].Followed {
			b.Errorf("ready of j: %+v", got)
		}
	})
}

// orderRace: a worker that blocks and a holder that ends its row meet in every order;
// afterwards nothing is blocked, without a sweep.
//
//evidence:strict-off
func orderRace(b *bundle) {
	const rounds = 40
	other := b.Reopen()
	for n := range rounds {
		b.leasedHead()
		m1, m2 := b.leaseOf("m1", "t"), b.rowID(b.DB, "m2")
		var wait sync.WaitGroup
		wait.Go(func() {
			time.Sleep(rand.N(2 * time.Millisecond))
			if err := b.raceWorker(b.Store, m2); err != nil {
				b.Errorf("worker: %v", err)
			}
		})
		wait.Go(func() {
			time.Sleep(rand.N(2 * time.Millisecond))
			if err := b.raceHolder(other, m1); err != nil {
				b.Errorf("holder: %v", err)
			}
		})
		wait.Wait()
		if got := b.ready(); len(got) != 1 || got[0].Behind {
			b.Fatalf("round %d: ready: %+v", n, got)
		}
		b.in(func(t *txn.Txn) { b.finish(t, "m2"); b.exec(t, "DELETE FROM {{schema}}.headrace_inbox") })
	}
}

// raceWorker blocks a row.
func (b *bundle) raceWorker(s store.Store, row int64) error {
	t, err := s.Begin(b.ctx)
	if err != nil {
		return err
	}
	defer t.Rollback()
	if _, err := s.Backlog().LockShard(b.ctx, t, consumer, shard.Of("k"), txn.Limits{}); err != nil {
		return err
	}
	if _, err := s.Backlog().Order.Block(b.ctx, t, []int64{row}); err != nil {
		return err
	}
	time.Sleep(rand.N(2 * time.Millisecond))
	return s.Commit(b.ctx, t, nil)
}

// raceHolder ends a leased row.
func (b *bundle) raceHolder(s store.Store, l backlog.Lease) error {
	t, err := s.Begin(b.ctx)
	if err != nil {
		return err
	}
	defer t.Rollback()
	if held, err := s.Backlog().Leases.Fence(b.ctx, t, l, txn.Limits{}); err != nil || !held {
		return fmt.Errorf("fence: %t, %v", held, err)
	}
	if _, err := s.Inbox().Transition(b.ctx, t, []inbox.ID{id("m1")}, inbox.Waiting, inbox.Done); err != nil {
		return err
	}
	if err := s.Backlog().Delete(b.ctx, t, []int64{l.RowID}); err != nil {
		return err
	}
	time.Sleep(rand.N(2 * time.Millisecond))
	if err := s.Backlog().Order.Release(b.ctx, t, []backlog.OrderKey{orderKey("k")}, 10); err != nil {
		return err
	}
	return s.Commit(b.ctx, t, nil)
}

func orderReleaseShared(b *bundle) {
	b.wait(later(ordered("m1", "k"), time.Hour), ordered("m2", "k"), ordered("m3", "k"))
	b.in(func(t *txn.Txn) { b.block(t, "m2", "m3") })
	b.in(func(t *txn.Txn) { b.finish(t, "m1") })
	one, two := b.begin(), b.begin()
	b.exec(two, "SET LOCAL lock_timeout = '5s'") // who waits for a row fails
	b.release(one, 1, "k")
	b.release(two, 5, "k")
	if n, err := b.Store.Backlog().Order.Sweep(b.ctx, two, consumer, 10); err != nil || n != 0 {
		b.Errorf("swept %d rows that another transaction releases, %v", n, err)
	}
	b.commit(two)
	b.wantKeys("released by the second", b.ready(), "m3")
	one.Rollback()
	b.wantBlockedCount(1)
}
