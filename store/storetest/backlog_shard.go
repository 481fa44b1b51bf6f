package storetest

import (
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/shard"
	"github.com/headrace/headrace/store/txn"
)

var shardTests = []test{
	{name: "a shard has one holder until its transaction ends", run: shardExclusive, needs: concurrentWriters},
	{name: "the only transaction gets every shard", run: shardOneWriter, needs: oneWriter},
	{name: "a new holder sees what the holder before committed", run: shardHandover, needs: concurrentWriters},
	{name: "the shards of the outbox are not those of the backlog", run: shardOutbox, needs: concurrentWriters},
	{name: "the idle limit frees the shards of a stopped process", run: shardIdle, needs: serverLimits},
	{name: "a late committer is found below the mark", run: shardLateCommitter, needs: concurrentWriters},
}

func (b *bundle) lock(t *txn.Txn, shard int) bool {
	b.Helper()
	got, err := b.Store.Backlog().LockShard(b.ctx, t, consumer, shard, txn.Limits{})
	if err != nil {
		b.Fatalf("LockShard: %v", err)
	}
	return got
}

//evidence:shard
func shardExclusive(b *bundle) {
	for name, end := range map[string]func(*txn.Txn){
		"commit": func(t *txn.Txn) { b.commit(t) }, "rollback": (*txn.Txn).Rollback, "discard": (*txn.Txn).Discard,
	} {
		holder, other := b.begin(), b.begin()
		if !b.lock(holder, 3) {
			b.Fatalf("%s: the first did not get the shard", name)
		}
		if b.lock(other, 3) {
			b.Errorf("%s: two hold a shard", name)
		}
		if !b.lock(other, 4) {
			b.Errorf("%s: another shard is not free", name)
		}
		if got, err := b.Store.Backlog().LockShard(b.ctx, other, "bill", 3, txn.Limits{}); err != nil || !got {
			b.Errorf("%s: the shard of another consumer is not free: %v", name, err)
		}
		end(holder)
		b.await("the shard after "+name, func() bool { return b.lock(other, 3) }) // a discard ends beside us
		other.Rollback()
	}
}

func shardOneWriter(b *bundle) {
	b.in(func(t *txn.Txn) {
		for s := range backlog.Shards {
			if !b.lock(t, s) {
				b.Errorf("shard %d is not free", s)
			}
		}
	})
}

// shardHandover: the new holder has read before it got the shard; a snapshot from
// then would show rows that are worked off.
//
//evidence:shard
func shardHandover(b *bundle) {
	b.wait(keyed("1", "k"), keyed("2", "k"))
	line := shard.Of("k")
	holder, next := b.begin(), b.begin()
	b.lock(holder, line)
	if b.lock(next, line) {
		b.Fatal("two hold a shard")
	}
	b.wantKeys("before", b.read(next, line, 0, 10), "1", "2")
	b.move(holder, inbox.Waiting, inbox.Done, "1")
	b.remove(holder, "1")
	b.commit(holder)
	if !b.lock(next, line) {
		b.Fatal("the shard is not free after a commit")
	}
	b.wantKeys("after", b.read(next, line, 0, 10), "2")
	next.Rollback()
}

func shardOutbox(b *bundle) {
	one, two := b.begin(), b.begin()
	b.lock(one, 3)
	if got, err := b.Store.Outbox().LockShard(b.ctx, two, 3, 0); err != nil || !got {
		b.Errorf("the outbox's shard is not free: %v", err)
	}
	if got, err := b.Store.Outbox().LockShard(b.ctx, one, 3, 0); err != nil || got {
		b.Errorf("two hold a shard of the outbox: %v", err)
	}
	two.Rollback()
	if got, err := b.Store.Outbox().LockShard(b.ctx, one, 3, 0); err != nil || !got {
		b.Errorf("the shard is not free after a rollback: %v", err)
	}
	one.Rollback()
}

// shardLateCommitter is why a worker reads the bottom of its shard again.
func shardLateCommitter(b *bundle) {
	late := b.begin()
	first, second := keyed("first", "k"), keyed("second", "k")
	b.waitIn(late, first)
	b.wait(second)
	marks := make([]int64, backlog.Shards)
	line := shard.Of("k")
	got := b.ready()
	b.wantKeys("before the late commit", got, "second")
	marks[line] = got[0].Place
	b.commit(late)
	if p := b.poll(marks); len(p.Shards) != 0 {
		b.Errorf("the late row is above the mark: %+v", p)
	}
	clear(marks)
	if p := b.poll(marks); len(p.Shards) != 1 {
		b.Errorf("with the mark forgotten: %+v", p)
	}
	b.wantKeys("after the late commit", b.ready(), "first", "second")
}

// shardIdle: without it a stopped process keeps its shard for ever.
//
//evidence:abandoned
func shardIdle(b *bundle) {
	stopped, next := b.begin(), b.begin()
	if got, err := b.Store.Backlog().LockShard(b.ctx, stopped, consumer, 3, txn.Limits{Idle: brief}); err != nil || !got {
		b.Fatalf("LockShard: %t, %v", got, err)
	}
	b.await("the shard of the backlog", func() bool { return b.lock(next, 3) })
	stopped = b.begin()
	if got, err := b.Store.Outbox().LockShard(b.ctx, stopped, 3, brief); err != nil || !got {
		b.Fatalf("LockShard: %t, %v", got, err)
	}
	b.await("the shard of the outbox", func() bool {
		got, err := b.Store.Outbox().LockShard(b.ctx, next, 3, 0)
		b.must(err)
		return got
	})
	next.Rollback()
}
