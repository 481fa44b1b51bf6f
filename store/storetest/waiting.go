package storetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

var waitingTests = []test{
	{name: "the backlog is listed by filter and page", run: waitingList},
	{name: "a row is shown whole", run: waitingGet},
	{name: "failed rows are grouped by reason", run: waitingGroups},
	{name: "a row keeps the reason of its newest attempt", run: waitingFailures},
	{name: "no call looks at more rows than MaxLook", run: waitingWindows},
}

// listed returns the keys of the rows of a page.
func (b *bundle) listed(f backlog.Filter, after int64, limit int) (keys []string, next int64) {
	b.Helper()
	rows, next, err := b.Store.Operations().Waiting.List(b.ctx, f, after, limit)
	b.must(err)
	for _, r := range rows {
		keys = append(keys, r.Delivery.Key)
		if r.Delivery.Payload != nil || len(r.Delivery.Metadata) > 0 {
			b.Errorf("%s comes with its payload", r.Delivery.Key)
		}
	}
	return keys, next
}

func waitingList(b *bundle) {
	if keys, next := b.listed(backlog.Filter{}, 0, 10); len(keys) > 0 || next != 0 {
		b.Errorf("an empty backlog lists %v, next %d", keys, next)
	}
	failed := item("failed")
	failed.ErrorFingerprint = "print-1"
	other := item("theirs")
	other.Consumer, other.Handler, other.Delivery.Scope = "bill", "sent", "bill/sent"
	b.wait(item("a"), later(item("late"), time.Hour), failed, other)
	for _, c := range []struct {
		f    backlog.Filter
		want []string
	}{
		{backlog.Filter{}, []string{"a", "late", "failed", "theirs"}},
		{backlog.Filter{Consumer: "bill"}, []string{"theirs"}},
		{backlog.Filter{Handler: handler}, []string{"a", "late", "failed"}},
		{backlog.Filter{Status: "delayed"}, []string{"late"}},
		{backlog.Filter{ErrorFingerprint: "print-1"}, []string{"failed"}},
		{backlog.Filter{ErrorFingerprint: "print-1", Consumer: "bill"}, nil},
		{backlog.Filter{ErrorFingerprint: "print-1", Status: "ready", Handler: handler}, []string{"failed"}},
		{backlog.Filter{Consumer: "no one"}, nil},
	} {
		if keys, next := b.listed(c.f, 0, 10); !slices.Equal(keys, c.want) || next != 0 {
			b.Errorf("%+v lists %v, want %v; next %d", c.f, keys, c.want, next)
		}
	}
	first, next := b.listed(backlog.Filter{}, 0, 3)
	rest, end := b.listed(backlog.Filter{}, next, 3)
	if !slices.Equal(first, []string{"a", "late", "failed"}) || !slices.Equal(rest, []string{"theirs"}) || next == 0 || end != 0 {
		b.Errorf("pages %v, %v; next %d, %d", first, rest, next, end)
	}
}

func waitingGet(b *bundle) {
	one := ordered("a", "customer")
	one.Delay, one.Spent, one.Reruns, one.LetterID, one.Redrives, one.Reason, one.Postponed = time.Hour, 1, 2, 7, 1, "not yet", time.Minute
	b.wait(one)
	id := b.oneRow()
	got, err := b.Store.Operations().Waiting.Get(b.ctx, id)
	b.must(err)
	ignored := cmpopts.IgnoreFields(backlog.Item{}, "RowID", "Place", "Delay", "Postponed", "Reason")
	if diff := gocmp.Diff(one, got.Item, asKept, ignored); diff != "" {
		b.Errorf("the row (-want +got):\n%s", diff)
	}
	if got.RowID != id || got.Wait.Status != "delayed" || got.Wait.Reason != "not yet" || got.PayloadBytes != len(one.Delivery.Payload) || got.Ready.IsZero() {
		b.Errorf("%+v", got)
	}
	near(b, "the row is due", got.Wait.Due.Sub(got.Ready), time.Hour)
	near(b, "it is postponed since", got.Ready.Sub(got.Wait.Postponed), time.Minute)
	if _, err := b.Store.Operations().Waiting.Get(b.ctx, id+1); !errors.Is(err, backlog.ErrNotFound) {
		b.Errorf("a row that is not there: %v", err)
	}
}

// near fails unless two durations are within a second of each other.
func near(b *bundle, what string, got, want time.Duration) {
	b.Helper()
	if (got - want).Abs() > time.Second {
		b.Errorf("%s %s, want %s", what, got, want)
	}
}

// oneRow returns the id of the only row.
func (b *bundle) oneRow() int64 {
	b.Helper()
	rows, _, err := b.Store.Operations().Waiting.List(b.ctx, backlog.Filter{}, 0, 2)
	b.must(err)
	if len(rows) != 1 {
		b.Fatalf("%d rows", len(rows))
	}
	return rows[0].RowID
}

// fails records an attempt of key and reschedules its row as a failure does.
func (b *bundle) fails(t *txn.Txn, key, text, print string, delay time.Duration) {
	b.Helper()
	numbers, err := b.Store.Inbox().AddAttempts(b.ctx, t, []inbox.Attempt{{ID: inbox.ID{Scope: scope, Key: key}, Class: "transient", Error: text, ErrorType: "e"}})
	b.must(err)
	b.reschedule(t, key, backlog.Change{Delay: delay, Attempt: numbers[0] + 1, ErrorFingerprint: print})
}

func waitingGroups(b *bundle) {
	groups := func(f backlog.Filter) []backlog.Group {
		b.Helper()
		list, err := b.Store.Operations().Waiting.Groups(b.ctx, f)
		b.must(err)
		return list
	}
	b.wait(item("never"))
	if list := groups(backlog.Filter{}); len(list) > 0 {
		b.Errorf("nothing failed: %+v", list)
	}
	other := item("theirs")
	other.Consumer, other.Handler, other.Delivery.Scope, other.ErrorFingerprint = "bill", "sent", "bill/sent", "print-1"
	b.wait(item("a"), item("b"), item("c"), other)
	b.in(func(t *txn.Txn) {
		b.fails(t, "a", "refused 1", "print-1", time.Hour)
		b.fails(t, "b", "refused 2", "print-1", 2*time.Hour)
		b.fails(t, "c", "timeout", "print-2", 0)
	})
	list := groups(backlog.Filter{})
	if len(list) != 3 {
		b.Fatalf("%+v", list)
	}
	g := list[0]
	if g.ErrorFingerprint != "print-1" || g.Consumer != consumer || g.Handler != handler || g.Count != 2 || g.More || g.Error != "refused 2" || g.SampleID == 0 {
		b.Errorf("%+v", g)
	}
	sample, err := b.Store.Operations().Waiting.Get(b.ctx, g.SampleID)
	if err != nil || sample.Delivery.Key != "b" || sample.Error != "refused 2" {
		b.Errorf("the sample: %+v, %v", sample, err)
	}
	near(b, "the first is due", sample.Wait.Due.Sub(g.Due), time.Hour)
	for _, c := range []struct {
		f    backlog.Filter
		want int
	}{
		{backlog.Filter{Consumer: "bill"}, 1}, {backlog.Filter{Handler: handler}, 2}, {backlog.Filter{ErrorFingerprint: "print-1"}, 2},
		{backlog.Filter{ErrorFingerprint: "print-2", Consumer: consumer}, 1}, {backlog.Filter{ErrorFingerprint: "print"}, 0},
	} {
		if list := groups(c.f); len(list) != c.want {
			b.Errorf("%+v has %d groups, want %d: %+v", c.f, len(list), c.want, list)
		}
	}
}

// A run that cost no attempt keeps the reason of the last one that did.
func waitingFailures(b *bundle) {
	b.wait(item("a"))
	id := b.oneRow()
	for _, step := range []struct {
		do   func(t *txn.Txn)
		want string
	}{
		{func(t *txn.Txn) { b.fails(t, "a", "refused", "print-1", 0) }, "print-1 refused"},
		{func(t *txn.Txn) {
			b.reschedule(t, "a", backlog.Change{Attempt: 2, Delay: time.Hour, Postponed: true, Reason: "later"})
		}, "print-1 refused"},
		{func(t *txn.Txn) { b.fails(t, "a", "timeout", "print-2", 0) }, "print-2 timeout"},
	} {
		b.in(step.do)
		r, err := b.Store.Operations().Waiting.Get(b.ctx, id)
		b.must(err)
		if got := r.ErrorFingerprint + " " + r.Error; got != step.want {
			b.Errorf("%q, want %q", got, step.want)
		}
	}
}

// A call looks at a bounded number of rows, finds none of many, and says where to go on.
func waitingWindows(b *bundle) {
	const more = 50
	items := make([]backlog.Item, backlog.MaxLook+more)
	for i := range items {
		items[i] = item(fmt.Sprint("k", i))
		items[i].ErrorFingerprint = "print-1"
	}
	items[len(items)-1].Handler, items[len(items)-1].Delivery.Scope = "sent", consumer+"/sent"
	for part := range slices.Chunk(items, 1000) {
		b.wait(part...)
	}
	for _, print := range []string{"", "print-1"} {
		f := backlog.Filter{Handler: "sent", ErrorFingerprint: print}
		keys, next := b.listed(f, 0, 5)
		calls := 1
		for ; len(keys) == 0 && next != 0; calls++ {
			keys, next = b.listed(f, next, 5)
		}
		if len(keys) != 1 || next != 0 || calls != 2 {
			b.Errorf("of %+v %d calls find %v; next %d", f, calls, keys, next)
		}
	}
	few := item("few")
	few.ErrorFingerprint = "print-2"
	b.wait(few)
	groups, err := b.Store.Operations().Waiting.Groups(b.ctx, backlog.Filter{})
	if err != nil || len(groups) != 2 || groups[0].Count != backlog.MaxCounted/2 || !groups[0].More || groups[1].Count != 1 || groups[1].More {
		b.Errorf("%+v, %v", groups, err)
	}
	groups, err = b.Store.Operations().Waiting.Groups(b.ctx, backlog.Filter{ErrorFingerprint: "print-1"})
	if err != nil || len(groups) != 1 || groups[0].Count != backlog.MaxCounted || !groups[0].More {
		b.Errorf("%+v, %v", groups, err)
	}
}
