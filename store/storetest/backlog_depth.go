package storetest

import (
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/store/txn"
)

func backlogDepth(b *bundle) {
	if d, err := b.Store.Backlog().Depth(b.ctx, consumer); err != nil || d != (backlog.Depth{}) {
		b.Errorf("of an empty backlog: %+v, %v", d, err)
	}
	other := item("theirs")
	other.Consumer, other.Delivery.Scope = "bill", "bill/orders.paid"
	b.wait(later(ordered("first", "k"), time.Hour), ordered("second", "k"), item("free"), item("put off"), later(item("late"), time.Hour), other)
	b.in(func(t *txn.Txn) {
		b.block(t, "second")
		b.reschedule(t, "put off", backlog.Change{Delay: time.Hour, Postponed: true})
	})
	b.shift(time.Minute)
	for name, want := range map[string]backlog.Depth{
		consumer: {Ready: 1, Delayed: 3, Postponed: 1, Blocked: 1}, "bill": {Ready: 1}, "b": {},
	} {
		d, err := b.Store.Backlog().Depth(b.ctx, name)
		b.must(err)
		all, err := b.Store.Backlog().Depths(b.ctx)
		b.must(err)
		exact, known := depthOf(all, name)
		about(b, "the oldest ready row of "+name, d.Oldest, exact.Oldest)
		if exact.Oldest = d.Oldest; exact != d || known != (d != backlog.Depth{}) || len(all) != 2 {
			b.Errorf("%q in the depths of all: %+v, want %+v; %d handlers", name, exact, d, len(all))
		}
		if want.Ready > 0 {
			about(b, "the oldest ready row", d.Oldest, 2*time.Minute)
		} else if d.Oldest != 0 {
			b.Errorf("consumer %q: oldest ready row is %s old", name, d.Oldest)
		}
		d.Oldest = 0
		if d != want {
			b.Errorf("depth of %q is %+v, want %+v", name, d, want)
		}
	}
}

// depthOf returns the depth of the consumer's one handler.
func depthOf(all []backlog.HandlerDepth, name string) (backlog.Depth, bool) {
	for _, h := range all {
		if h.Consumer == name && h.Handler == handler {
			return h.Depth, true
		}
	}
	return backlog.Depth{}, false
}

// A row's age counts from when it became ready, however it did.
func backlogAge(b *bundle) {
	var shift time.Duration
	for how, readies := range map[string]func(t *txn.Txn, key string){
		"Promote": func(t *txn.Txn, _ string) {
			_, err := b.Store.Backlog().Promote(b.ctx, t, consumer, 10)
			b.must(err)
		},
		"Reschedule": func(t *txn.Txn, key string) { b.reschedule(t, key+" 2", backlog.Change{}) },
		"Release":    func(t *txn.Txn, key string) { b.release(t, 1, key) },
		"Sweep":      func(t *txn.Txn, _ string) { b.sweepIn(t, 1) },
		"leases.MoveBack": func(t *txn.Txn, _ string) {
			_, err := b.leases().MoveBack(b.ctx, t, consumer, handler, 10)
			b.must(err)
		},
	} {
		b.wait(ordered(how+" 1", how), ordered(how+" 2", how))
		b.in(func(t *txn.Txn) {
			b.reschedule(t, how+" 1", backlog.Change{Delay: 1000 * time.Hour})
			switch how {
			case "Promote":
				b.reschedule(t, how+" 2", backlog.Change{Delay: time.Hour})
			case "leases.MoveBack":
				b.must(b.leases().MoveToLeased(b.ctx, t, []int64{b.rowID(t, how+" 2")}))
			case "Release", "Sweep":
				b.block(t, how+" 2")
			}
		})
		shift += 2 * time.Hour
		b.shift(shift)
		b.in(func(t *txn.Txn) {
			b.finish(t, how+" 1")
			readies(t, how)
		})
		d, err := b.Store.Backlog().Depth(b.ctx, consumer)
		if err != nil || d.Ready != 1 {
			b.Errorf("%s: %+v, %v", how, d, err)
		}
		about(b, "the age after "+how, d.Oldest, time.Minute)
		b.in(func(t *txn.Txn) { b.finish(t, how+" 2") })
	}
}
