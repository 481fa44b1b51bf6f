package storetest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/ledger"
)

var memoTests = []test{
	{name: "one makes a shared call, for a term", run: memoTaken},
	{name: "of many that ask for a shared call one makes it", run: memoTakenAtOnce},
	{name: "the first shared result counts, for its time", run: memoFirst},
	{name: "a shared result becomes that of a step", run: memoAdopted},
	{name: "without the lease no shared result is adopted", run: memoWithoutLease},
	{name: "shared results whose time is over are removed", run: memoPruned},
}

func (b *bundle) memos() ledger.Memos { return b.Store.Operations().Memos }

// memoOf is the memo of an input, as token asks for it.
func memoOf(input, token string) ledger.Memo {
	return ledger.Memo{System: "model", Name: "classify", Input: input, Token: token}
}

func (b *bundle) takesMemo(want ledger.MemoState, m ledger.Memo) (left time.Duration) {
	b.Helper()
	got, left, err := b.memos().Take(b.ctx, m, time.Minute)
	if err != nil || got != want {
		b.Errorf("take %+v: %d, %v", m, got, err)
	}
	return left
}

func (b *bundle) putsMemo(want string, m ledger.Memo, result string) {
	b.Helper()
	got, err := b.memos().Put(b.ctx, m, []byte(result), time.Hour)
	if err != nil || string(got) != want {
		b.Errorf("put %s: %s, %v", result, got, err)
	}
}

//evidence:memo
func memoTaken(b *bundle) {
	a, other := memoOf("in", "a"), memoOf("in", "b")
	b.takesMemo(ledger.MemoTaken, a)
	b.takesMemo(ledger.MemoTaken, memoOf("another input", "b"))
	b.shift(40 * time.Second)
	b.takesMemo(ledger.MemoTaken, a) // its term begins anew
	b.shift(80 * time.Second)
	if left := b.takesMemo(ledger.MemoBusy, other); left <= 0 || left > 20*time.Second {
		b.Errorf("another has it for %s", left)
	}
	b.shift(101 * time.Second)
	b.takesMemo(ledger.MemoTaken, other)
	b.must(b.memos().Release(b.ctx, a)) // it is not its own any more
	b.takesMemo(ledger.MemoBusy, a)
	b.must(b.memos().Release(b.ctx, other))
	b.takesMemo(ledger.MemoTaken, a)
}

//evidence:memo
func memoTakenAtOnce(b *bundle) {
	var all sync.WaitGroup
	var taken atomic.Int32
	for i := range 8 {
		all.Go(func() {
			s, _, err := b.memos().Take(b.ctx, memoOf("in", fmt.Sprint(i)), time.Minute)
			if err != nil {
				b.Error(err)
			}
			if s == ledger.MemoTaken {
				taken.Add(1)
			}
		})
	}
	all.Wait()
	if n := taken.Load(); n != 1 {
		b.Errorf("%d have it", n)
	}
}

//evidence:memo
func memoFirst(b *bundle) {
	a, other := memoOf("in", "a"), memoOf("in", "b")
	b.takesMemo(ledger.MemoTaken, a)
	b.putsMemo("1", other, "1") // whose term is over has it first
	b.putsMemo("1", a, "2")
	b.putsMemo("1", other, "1")
	b.takesMemo(ledger.MemoKnown, a)
	b.must(b.memos().Release(b.ctx, a))
	b.takesMemo(ledger.MemoKnown, other)
	b.shift(time.Hour + time.Second)
	b.putsMemo("3", a, "3") // as if it had never been
	b.shift(2*time.Hour + 2*time.Second)
	b.takesMemo(ledger.MemoTaken, other)
	b.putsMemo("4", other, "4")
}

func (b *bundle) adopts(want bool, l backlog.Lease, m ledger.Memo, key string) {
	b.Helper()
	got, err := b.memos().Adopt(b.ctx, m, l, ledger.Row{ID: id(key), Step: "classify/1", CallID: m.Token})
	b.is(want, got, err)
}

//evidence:memo
func memoAdopted(b *bundle) {
	b.wait(item("a"), item("b"), item("c"))
	l := b.stepLease()
	m := memoOf("in", "a")
	b.adopts(false, l, m, "a")
	b.takesMemo(ledger.MemoTaken, m)
	b.adopts(false, l, m, "a")
	b.putsMemo(`{"x":1}`, m, `{"x":1}`)
	b.adopts(true, l, m, "a")
	b.adopts(true, l, m, "a") // made again
	b.adopts(false, l, memoOf("in", "b"), "a")
	b.sameStep(b.theStep("a"), ledger.Row{
		ID: id("a"), Step: "classify/1", System: "model", State: ledger.Done, CallID: "a", InputHash: "in", Result: []byte(`{"x":1}`), Size: 7, Via: ledger.ViaMemo,
	})
	for key, state := range map[string]ledger.State{"b": ledger.Pending, "c": ledger.Failed} {
		r := ledger.Row{ID: id(key), Step: "classify/1", System: "old", CallID: "c1", InputHash: "old"}
		b.markStep(r)
		if state == ledger.Failed {
			r.State, r.Error = state, "away"
			b.outcome(true, r)
		}
		b.adopts(true, l, m, key)
		if r := b.theStep(key); r.State != ledger.Done || r.System != "model" || r.InputHash != "in" || r.Error != "" || r.Calls != 1 {
			b.Errorf("%+v", r)
		}
	}
	b.shift(time.Hour + time.Second)
	b.wait(item("d"))
	b.adopts(false, l, m, "d")
}

func memoWithoutLease(b *bundle) {
	b.wait(item("a"))
	l := b.stepLease()
	l.Token = "another"
	m := memoOf("in", "a")
	b.putsMemo("1", m, "1")
	b.adopts(false, l, m, "a")
	if rows := b.list("a"); len(rows) != 0 {
		b.Errorf("%+v", rows)
	}
}

//evidence:memo
func memoPruned(b *bundle) {
	b.takesMemo(ledger.MemoTaken, memoOf("1", "a"))
	b.putsMemo("1", memoOf("2", "a"), "1")
	b.shift(time.Hour + time.Second)
	b.takesMemo(ledger.MemoTaken, memoOf("3", "a"))
	b.putsMemo("1", memoOf("4", "a"), "1")
	for _, want := range []int{1, 1, 0} {
		if n, err := b.Store.Operations().Pruner.Expired(b.ctx, 1); n != want || err != nil {
			b.Errorf("%d, %v", n, err)
		}
	}
	if n := b.count(b.DB, "SELECT count(*) FROM {{schema}}.headrace_memos"); n != 2 {
		b.Errorf("%d rows are left", n)
	}
}
