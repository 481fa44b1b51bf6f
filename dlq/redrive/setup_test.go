package redrive_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/sqlite"
	"github.com/headrace/headrace/store/txn"
)

// fixture is what a test of the admin works with. Its methods fail the test on an error.
type fixture struct {
	*testing.T
	kind  string
	ctx   context.Context
	st    store.Store
	admin *redrive.Admin
	// spoilt says that the test left a violation on purpose.
	spoilt bool
}

// onBoth runs f on a fresh store of each kind, and then the invariants over what f left.
func onBoth(t *testing.T, f func(*fixture)) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) store.Store{"sqlite": openSQLite, "postgres": openPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
			t.Cleanup(cancel)
			st := open(t)
			b := &fixture{T: t, kind: name, ctx: ctx, st: st, admin: redrive.New(st)}
			f(b)
			b.check()
		})
	}
}

func openSQLite(t *testing.T) store.Store {
	st, err := sqlite.Open(context.Background(), filepath.Join(t.TempDir(), "headrace.db"), sqlite.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

func (b *fixture) check() {
	b.Helper()
	report, err := b.st.(store.Checker).Check(b.ctx)
	b.must(err)
	if report.OK() == b.spoilt {
		b.Errorf("Check: %+v", report)
	}
}

func (b *fixture) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *fixture) in(f func(t *txn.Txn)) {
	b.Helper()
	t, err := b.st.Begin(b.ctx)
	b.must(err)
	defer t.Rollback()
	f(t)
	b.must(b.st.Commit(b.ctx, t, nil))
}

// letter returns a letter of billing/orders.paid with what a change does to it.
func letter(key string, change ...func(*dlq.Letter)) dlq.Letter {
	l := dlq.Letter{
		Class: dlq.Exhausted, Consumer: "billing", Handler: "orders.paid",
		Delivery: headrace.Delivery{
			Scope: "billing/orders.paid", Key: key, Fingerprint: "f-" + key, ID: "id-" + key, Topic: "orders",
			Payload: []byte("\x00\xff" + key), Metadata: map[string]string{"h": "\xfe" + key},
			Coordinates: headrace.Coordinates{Broker: "kafka", Topic: "orders", Partition: "3", Position: "17"},
			Trace:       headrace.TraceContext{Parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}, Attempt: 9,
			ReplyTopic: "receipts",
		},
		Error: "declined", ErrorFingerprint: "0123456789abcdef", Chain: []string{"*x.Error: declined"}, Attempts: 2,
	}
	for _, c := range change {
		c(&l)
	}
	return l
}

func strict(orderKey string) func(*dlq.Letter) {
	return func(l *dlq.Letter) { l.Strict, l.Delivery.OrderKey = true, orderKey }
}

func conflict(l *dlq.Letter) {
	l.Class, l.FirstFingerprint, l.Attempts = dlq.Conflict, l.Delivery.Fingerprint, 0
	l.Delivery.Fingerprint += "-other"
}

// die writes what the runtime writes when it gives a message up.
func (b *fixture) die(letters ...dlq.Letter) []int64 {
	b.Helper()
	var ids []int64
	b.in(func(t *txn.Txn) {
		for _, l := range letters {
			if l.Class != dlq.Conflict {
				claim := inbox.Claim{ID: l.ID(), Fingerprint: l.Delivery.Fingerprint}
				won, err := b.st.Inbox().Claim(b.ctx, t, inbox.ClaimRequest{Claims: []inbox.Claim{claim}})
				if err != nil || won[0].Result != inbox.Won {
					b.Fatalf("claim %s: %v, %v", l.Delivery.Key, won, err)
				}
				_, err = b.st.Inbox().Transition(b.ctx, t, []inbox.ID{l.ID()}, inbox.Done, inbox.Dead)
				b.must(err)
				for range l.Attempts {
					_, err := b.st.Inbox().AddAttempts(b.ctx, t, []inbox.Attempt{{ID: l.ID(), Class: "transient", Error: "declined", ErrorType: "*x.Error"}})
					b.must(err)
				}
			}
			inserted, err := b.st.Letters().Insert(b.ctx, t, []dlq.Letter{l})
			if err != nil || !inserted[0].Written {
				b.Fatalf("insert %s: %v, %v", l.Delivery.Key, inserted, err)
			}
			ids = append(ids, inserted[0].LetterID)
		}
	})
	return ids
}

// dieMany lets n messages die under the keys k0000, k0001, …
func (b *fixture) dieMany(n int, change ...func(*dlq.Letter)) []int64 {
	b.Helper()
	letters := make([]dlq.Letter, 0, n)
	for i := range n {
		letters = append(letters, letter(fmt.Sprintf("k%04d", i), change...))
	}
	return b.die(letters...)
}

func (b *fixture) letterState(id int64) dlq.State {
	b.Helper()
	l, err := b.st.Letters().Get(b.ctx, id)
	b.must(err)
	return l.State
}

func (b *fixture) inboxState(key string) inbox.State {
	b.Helper()
	entries, err := b.st.Inbox().Find(b.ctx, key)
	b.must(err)
	if len(entries) == 0 {
		return ""
	}
	return entries[0].State
}

func (b *fixture) depth() backlog.Depth {
	b.Helper()
	d, err := b.st.Backlog().Depth(b.ctx, "billing")
	b.must(err)
	d.Oldest = 0
	return d
}

// ready reads what can be worked off.
func (b *fixture) ready() []backlog.Item {
	b.Helper()
	var all []backlog.Item
	b.in(func(t *txn.Txn) {
		for shard := range backlog.Shards {
			items, err := b.st.Backlog().Read(b.ctx, t, backlog.ReadRequest{
				Consumer: "billing", Shard: shard, Limit: 1000, Bytes: 1 << 30, Handlers: []string{"orders.paid"},
			})
			b.must(err)
			all = append(all, items...)
		}
	})
	return all
}

// workOff does what the drain does with a message that is applied.
func (b *fixture) workOff(items []backlog.Item) {
	b.Helper()
	b.in(func(t *txn.Txn) {
		for _, item := range items {
			id := inbox.ID{Scope: item.Delivery.Scope, Key: item.Delivery.Key}
			moved, err := b.st.Inbox().Transition(b.ctx, t, []inbox.ID{id}, inbox.Waiting, inbox.Done)
			if err != nil || len(moved) != 1 {
				b.Fatalf("work off %s: %v, %v", id.Key, moved, err)
			}
			b.must(b.st.Backlog().Delete(b.ctx, t, []int64{item.RowID}))
		}
	})
}
