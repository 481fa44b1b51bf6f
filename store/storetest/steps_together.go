package storetest

import (
	"bytes"
	"fmt"
	"sync"
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/store/txn"
)

// together is how many messages the tests of shared commits have.
const together = 12

// newLease returns the lease of another message.
func (b *bundle) newLease(key, token string, term time.Duration) backlog.Lease {
	b.Helper()
	b.park(key, inbox.Waiting)
	b.in(func(t *txn.Txn) { b.must(b.leases().MoveToLeased(b.ctx, t, []int64{b.rowID(t, key)})) })
	b.lease(token, term, 1)
	return b.leaseOf(key, token)
}

// lockLease has marks under l wait for the end of t.
func (b *bundle) lockLease(t *txn.Txn, l backlog.Lease) {
	b.Helper()
	if held, err := b.leases().Fence(b.ctx, t, l, txn.Limits{}); err != nil || !held {
		b.Fatal(held, err)
	}
}

// behind runs first, which waits for what block locks, and then all of calls, which wait
// behind it and share a commit.
func (b *bundle) behind(block func(*txn.Txn), first func(), calls ...func()) {
	b.Helper()
	t := b.begin()
	block(t)
	var all sync.WaitGroup
	all.Go(first)
	for _, call := range calls {
		time.Sleep(5 * time.Millisecond) // so that they are likely to be behind it; the outcome is the same
		all.Go(call)
	}
	time.Sleep(20 * time.Millisecond)
	t.Rollback()
	all.Wait()
}

// stepsMarkedTogether: marks that share a commit are each told whether they hold.
func stepsMarkedTogether(b *bundle) {
	for _, mixed := range []bool{false, true} {
		name := fmt.Sprint("mixed ", mixed)
		b.park(name, inbox.Waiting)
		b.park(name+" first", inbox.Waiting)
	}
	l := b.stepLease()
	second := b.newLease("second holder", "second", 100*time.Hour)
	for _, mixed := range []bool{false, true} {
		key := fmt.Sprint("mixed ", mixed)
		mark := func(want bool, l backlog.Lease, r ledger.Row) func() {
			return func() {
				got, err := b.steps().Mark(b.ctx, l, r)
				if err != nil || got != want {
					b.Errorf("%s: mark of %s: %t, %v", key, r.Step, got, err)
				}
			}
		}
		var calls []func()
		for n := range together {
			r := stepOf(key, fmt.Sprintf("step %d %q\\,{}'", n, "x"))
			r.CallID = fmt.Sprint("c", n)
			if n%2 == 0 {
				r.Sent = time.Unix(1e9, 0)
			}
			calls = append(calls, mark(true, second, r))
		}
		if mixed {
			b.markedStep(true, second, stepOf(key, "marked before"))
			r := stepOf(key, "marked before")
			r.CallID = "another"
			calls = append(calls, mark(false, second, r),
				mark(false, backlog.Lease{RowID: second.RowID, Token: "lost"}, stepOf(key, "lost")),
				mark(false, backlog.Lease{}, stepOf(key, "never held")))
		}
		b.behind(func(t *txn.Txn) { b.lockLease(t, l) }, mark(true, l, stepOf(key+" first", "first")), calls...)
		want := together
		if mixed {
			want++
		}
		rows := b.list(key)
		if len(rows) != want {
			b.Errorf("%s: %d steps", key, len(rows))
		}
		for _, r := range rows {
			if r.State != ledger.Pending || r.System != "erp" || r.InputHash != "in" || r.Calls != 1 || r.CallID == "another" || !roughly(r.Unsettled, 4*time.Hour) {
				b.Errorf("%+v", r)
			}
		}
	}
}

// resultOf are results that a shared commit must keep as they are.
func resultOf(n int) []byte {
	switch n {
	case 0:
		return nil
	case 1:
		return []byte{}
	case 2:
		return bytes.Repeat([]byte{0, '\\', 'x', 0xff}, 8<<10) // has a commit of its own
	}
	return fmt.Appendf(nil, "{\"n\":%d,\"text\":\"\\u0000 ' \\\\ x\"}\xff", n)
}

// lacks is the error of the n-th step: some cannot keep their result.
func lacks(n int) string {
	if n%4 == 0 {
		return fmt.Sprint("e", n)
	}
	return ""
}

// stepsDoneTogether: results that share a commit are kept as they are, and one that is
// recorded already stays.
func stepsDoneTogether(b *bundle) {
	key := "done together"
	b.park(key, inbox.Waiting)
	b.park("first", inbox.Waiting)
	first := stepOf("first", "first")
	b.markStep(first)
	done := func(want bool, r ledger.Row) func() {
		return func() {
			got, err := b.steps().RecordDone(b.ctx, r)
			if err != nil || got && !want { // false also where a shared commit has recorded it
				b.Errorf("record %s: %t, %v", r.Step, got, err)
			}
		}
	}
	var calls []func()
	for n := range together {
		r := stepOf(key, fmt.Sprint("step ", n))
		r.CallID = fmt.Sprint("c", n)
		b.markStep(r)
		r.Generation, r.Result, r.ExternalID, r.Via, r.Error = n, resultOf(n), fmt.Sprint("inv-", n), ledger.ViaCall, lacks(n)
		calls = append(calls, done(true, r))
	}
	stays := stepOf(key, "stays")
	b.markStep(stays)
	stays.Via, stays.Result = ledger.ViaProbe, []byte("first")
	b.doneStep(stays)
	stays.Via, stays.Result, stays.CallID = ledger.ViaCall, []byte("second"), "c2"
	calls = append(calls, done(false, stays))
	first.Via = ledger.ViaCall
	b.behind(func(t *txn.Txn) {
		if _, found, err := b.stepAdmin().Lock(b.ctx, t, first.ID, first.Step); err != nil || !found {
			b.Fatal(found, err)
		}
	}, done(true, first), calls...)
	for n := range together {
		result, err := b.steps().Result(b.ctx, id(key), fmt.Sprint("step ", n))
		if want := resultOf(n); err != nil || !bytes.Equal(result, want) || (result == nil) != (want == nil) {
			b.Errorf("result %d is %q, %v", n, result, err)
		}
	}
	for _, r := range b.list(key) {
		var n int
		if r.Step == stays.Step {
			if r.Via != ledger.ViaProbe || string(r.Result) != "first" {
				b.Errorf("%+v", r)
			}
		} else if _, err := fmt.Sscanf(r.Step, "step %d", &n); err != nil || r.LacksResult() != (n%4 == 0) || r.Generation != n ||
			r.ExternalID != fmt.Sprint("inv-", n) || r.Via != ledger.ViaCall || r.Error != lacks(n) || r.CallID != fmt.Sprint("c", n) {
			b.Errorf("%+v, %v", r, err)
		}
	}
}
