package storetest

import (
	"fmt"
	"sync"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

var processTests = []test{
	{name: "a message is claimed once by two processes", run: processesClaim},
	{name: "ids go up when the tables have run empty, in another process too", run: processesIDs},
	{name: "attempts go on in another process", run: processesAttempts},
}

// other returns the bundle of another process on the same database.
func (b *bundle) other() *bundle {
	o := *b
	o.Store = b.Reopen()
	return &o
}

// processesClaim: two processes take the same messages, and the effects are there
// once (invariant 2).
//
//evidence:once
func processesClaim(b *bundle) {
	const messages = 40
	var wait sync.WaitGroup
	for n, s := range []store.Store{b.Store, b.Reopen(), b.Store, b.Reopen()} {
		wait.Go(func() {
			for m := range messages {
				key := fmt.Sprintf("key-%02d", (m+10*n)%messages)
				if err := b.handle(s, key); err != nil {
					b.Errorf("process %d: %q: %v", n, key, err)
					return
				}
			}
		})
	}
	wait.Wait()
	if n := b.count(b.DB, "SELECT count(*) FROM {{schema}}.effects"); n != messages {
		b.Errorf("%d effects of %d messages", n, messages)
	}
	if n := b.count(b.DB, "SELECT count(DISTINCT key) FROM {{schema}}.effects"); n != messages {
		b.Errorf("effects of %d messages, want %d", n, messages)
	}
}

// handle claims key and leaves an effect if it won. It may be called from any
// goroutine.
func (b *bundle) handle(s store.Store, key string) error {
	t, err := s.Begin(b.ctx)
	if err != nil {
		return err
	}
	defer t.Rollback()
	answers, err := s.Inbox().Claim(b.ctx, t, inbox.ClaimRequest{Claims: claims(key)})
	if err != nil || answers[0].Result != inbox.Won {
		return err
	}
	const effect = "INSERT INTO {{schema}}.effects (scope, key) VALUES ($1, $2)"
	if _, err := t.ExecContext(b.ctx, b.statement(effect), scope, key); err != nil {
		return err
	}
	return s.Commit(b.ctx, t, events(1))
}

// processesIDs: a worker remembers how far it has read, and would pass over a row
// with an id that was given before.
func processesIDs(b *bundle) {
	var rows, published int64
	for n, b := range []*bundle{b, b, b.other(), b} {
		key := fmt.Sprint("key-", n)
		b.wait(keyed(key, "k"))
		b.publish(rowsOf("t", "k", n, 1)...)
		b.in(func(t *txn.Txn) {
			item, row := b.readAll(t)[0], b.outboxRead(t, shardOf("t", "k"), 0, 1)[0]
			if item.RowID <= rows || row.RowID <= published {
				b.Errorf("round %d: RowIDs %d and %d after %d and %d", n, item.RowID, row.RowID, rows, published)
			}
			rows, published = item.RowID, row.RowID
			b.move(t, inbox.Waiting, inbox.Done, key)
			b.remove(t, key)
			b.must(b.Store.Outbox().Delete(b.ctx, t, row.Shard, []int64{row.RowID}))
		})
	}
}

//evidence:attempts
func processesAttempts(b *bundle) {
	b.in(func(t *txn.Txn) { b.win(t, "a") })
	for want, b := range []*bundle{b, b.other(), b} {
		b.in(func(t *txn.Txn) {
			if n := b.fail(t, "a"); n != want+1 {
				b.Errorf("attempt has number %d, want %d", n, want+1)
			}
		})
	}
}
