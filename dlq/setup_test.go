package dlq_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/sqlite"
	"github.com/headrace/headrace/store/txn"
)

// bench is what a test of the desk works with. Its methods fail the test on an error.
type bench struct {
	*testing.T
	kind string
	ctx  context.Context
	st   store.Store
	desk *dlq.Desk
	// spoilt says that the test left a violation on purpose.
	spoilt bool
}

// onBoth runs f on a fresh store of each kind, and then the invariants over what f left.
func onBoth(t *testing.T, f func(*bench)) {
	for name, open := range map[string]func(*testing.T) store.Store{"sqlite": openSQLite, "postgres": openPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
			t.Cleanup(cancel)
			st := open(t)
			b := &bench{T: t, kind: name, ctx: ctx, st: st, desk: dlq.NewDesk(st)}
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

func (b *bench) check() {
	b.Helper()
	report, err := b.st.(store.Checker).Check(b.ctx)
	b.must(err)
	if report.OK() == b.spoilt {
		b.Errorf("Check: %+v", report)
	}
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) in(f func(t *txn.Txn)) {
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
		Error: "declined", ErrorPrint: "0123456789abcdef", Chain: []string{"*x.Error: declined"}, Attempts: 2,
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
	l.Class, l.FirstPrint, l.Attempts = dlq.Conflict, l.Delivery.Fingerprint, 0
	l.Delivery.Fingerprint += "-other"
}

// die writes what the runtime writes when it gives a message up.
func (b *bench) die(letters ...dlq.Letter) []int64 {
	b.Helper()
	var ids []int64
	b.in(func(t *txn.Txn) {
		for _, l := range letters {
			if l.Class != dlq.Conflict {
				entry := inbox.Entry{ID: l.ID(), State: inbox.Dead, Fingerprint: l.Delivery.Fingerprint}
				if recorded, err := b.st.Inbox().Record(b.ctx, t, entry); err != nil || !recorded {
					b.Fatalf("record %s: %v, %v", l.Delivery.Key, recorded, err)
				}
				for range l.Attempts {
					_, err := b.st.Inbox().AddAttempt(b.ctx, t, inbox.Attempt{ID: l.ID(), Class: "transient", Error: "declined", ErrorType: "*x.Error"})
					b.must(err)
				}
			}
			id, written, err := b.st.Letters().Insert(b.ctx, t, l)
			if err != nil || !written {
				b.Fatalf("insert %s: %v, %v", l.Delivery.Key, written, err)
			}
			ids = append(ids, id)
		}
	})
	return ids
}

// dieMany lets n messages die under the keys k0000, k0001, …
func (b *bench) dieMany(n int, change ...func(*dlq.Letter)) []int64 {
	b.Helper()
	letters := make([]dlq.Letter, 0, n)
	for i := range n {
		letters = append(letters, letter(fmt.Sprintf("k%04d", i), change...))
	}
	return b.die(letters...)
}

func (b *bench) letterState(id int64) dlq.State {
	b.Helper()
	l, err := b.st.Letters().Get(b.ctx, id)
	b.must(err)
	return l.State
}

func (b *bench) inboxState(key string) inbox.State {
	b.Helper()
	entries, err := b.st.Inbox().Find(b.ctx, key)
	b.must(err)
	if len(entries) == 0 {
		return ""
	}
	return entries[0].State
}

func (b *bench) depth() backlog.Depth {
	b.Helper()
	d, err := b.st.Backlog().Depth(b.ctx, "billing")
	b.must(err)
	d.Oldest = 0
	return d
}

// ready reads what can be worked off.
func (b *bench) ready() []backlog.Item {
	b.Helper()
	var all []backlog.Item
	b.in(func(t *txn.Txn) {
		for shard := range backlog.Shards {
			items, err := b.st.Backlog().Read(b.ctx, t, "billing", shard, 0, 1000)
			b.must(err)
			all = append(all, items...)
		}
	})
	return all
}

// workOff does what the drain does with a message that is applied.
func (b *bench) workOff(items []backlog.Item) {
	b.Helper()
	b.in(func(t *txn.Txn) {
		for _, item := range items {
			id := inbox.ID{Scope: item.Delivery.Scope, Key: item.Delivery.Key}
			moved, err := b.st.Inbox().Transition(b.ctx, t, []inbox.ID{id}, inbox.Waiting, inbox.Done)
			if err != nil || len(moved) != 1 {
				b.Fatalf("work off %s: %v, %v", id.Key, moved, err)
			}
			b.must(b.st.Backlog().Delete(b.ctx, t, []int64{item.RowID}))
			if item.Strict && item.Delivery.OrderKey != "" {
				b.must(b.st.Backlog().Order.Release(b.ctx, t, backlog.OrderKey{Scope: id.Scope, Key: item.Delivery.OrderKey}))
			}
		}
	})
}
