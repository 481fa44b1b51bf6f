package storetest

import (
	"fmt"
	"maps"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/store/txn"
)

func stepSearch(b *bundle) {
	for n, key := range []string{"a", "b", "c", "d"} {
		b.park(key, inbox.Waiting)
		r := stepOf(key, "invoice")
		b.markStep(r)
		switch r.State = map[string]ledger.State{"a": ledger.Parked, "b": ledger.Skipped, "c": ledger.Done}[key]; r.State {
		case ledger.Done:
			r.Via, r.ExternalID = ledger.ViaCall, "inv_"+key
			b.doneStep(r)
		case ledger.Parked, ledger.Skipped:
			b.outcome(true, r)
		}
		b.shift(time.Duration(n+1) * time.Hour)
	}
	keys := func(f ledger.Filter, limit int) (keys string) {
		b.Helper()
		rows, err := b.stepAdmin().Search(b.ctx, f, limit)
		b.must(err)
		for _, r := range rows {
			keys += r.ID.Key
		}
		return keys
	}
	for want, f := range map[string]ledger.Filter{
		"abd": {}, "a": {State: ledger.Parked}, "ab": {Idle: 150 * time.Minute}, "": {System: "crm"}, "d": {State: ledger.Pending, System: "erp"},
	} {
		if got := keys(f, 10); got != want {
			b.Errorf("%+v finds %q, not %q", f, got, want)
		}
	}
	if got := keys(ledger.Filter{}, 2); got != "ab" {
		b.Errorf("the oldest two are %q", got)
	}
	for _, c := range []struct {
		consumer string
		idle     time.Duration
		pending  int64
	}{{"", 0, 1}, {consumer, time.Hour, 1}, {consumer, 100 * time.Hour, 0}} {
		want := map[ledger.State]int64{ledger.Parked: 1, ledger.Skipped: 1} // that was hours ago
		if c.pending > 0 {
			want[ledger.Pending] = c.pending
		}
		counts, err := b.stepAdmin().Count(b.ctx, c.consumer, c.idle)
		if diff := cmp.Diff(want, counts); err != nil || diff != "" {
			b.Errorf("of %q for %s: %v (-want +got):\n%s", c.consumer, c.idle, err, diff)
		}
	}
	if counts, err := b.stepAdmin().Count(b.ctx, consumer[:1], 0); err != nil || len(counts) != 0 {
		b.Errorf("another consumer has %v, %v", counts, err)
	}
	found, err := b.stepAdmin().Find(b.ctx, "erp", "inv_c", 10)
	if err != nil || len(found) != 1 || found[0].ID != id("c") {
		b.Errorf("%+v, %v", found, err)
	}
	for _, pair := range [][2]string{{"erp", ""}, {"erp", "inv_a"}, {"crm", "inv_c"}, {"erp", "a\x00"}} {
		if found, err := b.stepAdmin().Find(b.ctx, pair[0], pair[1], 10); len(found) > 0 || err != nil {
			b.Errorf("%q: %+v, %v", pair, found, err)
		}
	}
}

func stepBlocking(b *bundle) {
	lost := ledger.Row{State: ledger.Parked, Via: ledger.ViaCall, Error: "no result"}
	want := map[inbox.ID]string{}
	var ids []inbox.ID
	for key, ends := range map[string][]ledger.Row{
		"none": {}, "open": {{State: ledger.Pending}}, "done": {{State: ledger.Done, Via: ledger.ViaCall}}, "parked": {{State: ledger.Failed}, {State: ledger.Parked}},
		"lost": {lost}, "both": {{State: ledger.Skipped}, lost, {State: ledger.Parked}},
	} {
		b.park(key, inbox.Waiting)
		ids = append(ids, id(key), id(key+"'"))
		for n, end := range ends {
			r := stepOf(key, fmt.Sprint("step", n))
			b.markStep(r)
			r.State, r.Via, r.Error = end.State, end.Via, end.Error
			if r.Via != "" {
				r.Error = ""
				b.doneStep(r)
				r.State, r.Via = ledger.Parked, ""
				b.outcome(false, r) // by one that does not know of the answer
				r.State, r.Via, r.Error = end.State, end.Via, end.Error
			}
			if r.State != ledger.Pending && r.State != ledger.Done {
				b.outcome(true, r) // also of one whose result is missed later
			}
			if row := b.list(key)[n]; row.State == ledger.Parked && want[id(key)] == "" {
				want[id(key)] = row.Step
			}
		}
	}
	b.in(func(t *txn.Txn) {
		if got, err := b.stepAdmin().Blocking(b.ctx, t, ids); err != nil || !maps.Equal(got, want) || len(want) != 3 {
			b.Errorf("%v, want %v; %v", got, want, err)
		}
	})
}

func stepResolve(b *bundle) {
	b.park("a", inbox.Waiting)
	r := stepOf("a", "payout")
	b.markStep(r)
	r.State, r.Error = ledger.Parked, "unknown"
	b.outcome(true, r)
	resolve := func(change func(*ledger.Row)) ledger.Row {
		b.Helper()
		b.in(func(t *txn.Txn) {
			row, found, err := b.stepAdmin().Lock(b.ctx, t, id("a"), "payout")
			if b.must(err); !found {
				b.Fatal("no row")
			}
			change(&row)
			b.must(b.stepAdmin().Resolve(b.ctx, t, row))
		})
		return b.theStep("a")
	}
	got := resolve(func(r *ledger.Row) {
		r.State, r.Via, r.ExternalID, r.Result, r.By, r.Reason = ledger.Done, ledger.ViaPerson, "po_7", []byte(`{}`), "ana", "it is there"
		r.InputHash = "other"
	})
	if got.State != ledger.Done || got.Via != ledger.ViaPerson || got.ExternalID != "po_7" || got.By != "ana" || got.Reason != "it is there" || got.Size != 2 || got.InputHash != "other" {
		b.Errorf("%+v", got)
	}
	b.shift(time.Hour)
	got = resolve(func(r *ledger.Row) { r.State, r.Via, r.Result, r.Generation = ledger.Failed, "", nil, r.Generation+1 })
	if got.State != ledger.Failed || got.Size != -1 || got.Generation != 1 || got.Age != 0 {
		b.Errorf("%+v", got)
	}
	b.in(func(t *txn.Txn) {
		if _, found, err := b.stepAdmin().Lock(b.ctx, t, id("b"), "payout"); found || err != nil {
			b.Errorf("%t, %v", found, err)
		}
	})
}

func stepErase(b *bundle) {
	b.park("a", inbox.Waiting)
	b.in(func(t *txn.Txn) { b.win(t, "b") })
	for _, key := range []string{"a", "b"} {
		r := stepOf(key, "classify")
		b.markStep(r)
		r.Via, r.Result, r.ExternalID = ledger.ViaCall, []byte(`"secret"`), "cls_1"
		b.doneStep(r)
	}
	for _, system := range []string{"erp", "other"} { // as shared by the steps of both
		_, err := b.memos().Put(b.ctx, ledger.Memo{System: system, Name: "classify", Input: "in"}, []byte(`"secret"`), time.Hour)
		b.must(err)
	}
	b.takesMemo(ledger.MemoTaken, ledger.Memo{System: "erp", Name: "another", Input: "in", Token: "t"}) // under way
	for key, want := range map[string]int{"a": 0, "b": 2} {
		b.in(func(t *txn.Txn) {
			if n, err := b.stepAdmin().Erase(b.ctx, t, id(key)); n != want || err != nil {
				b.Errorf("%s: %d, %v", key, n, err)
			}
		})
	}
	if n := b.count(b.DB, "SELECT count(*) FROM {{schema}}.headrace_memos"); n != 2 {
		b.Errorf("%d shared results are left", n)
	}
	if got := b.theStep("b"); got.Size != -1 || got.State != ledger.Done || got.ExternalID != "cls_1" {
		b.Errorf("%+v", got)
	}
	if got := b.theStep("a"); got.Size != 8 {
		b.Errorf("a message that waits still has lost its result: %+v", got)
	}
}

func stepDouble(b *bundle) {
	b.park("a", inbox.Waiting)
	r := stepOf("a", "invoice")
	b.markStep(r)
	r.Via, r.ExternalID, r.OtherID = ledger.ViaCall, "inv_1", "inv_1"
	b.double(false, r) // it is not done
	b.doneStep(r)
	b.double(false, r) // it is the same call
	b.exec(b.DB, "UPDATE {{schema}}.headrace_steps SET by_whom = 'ana', reason = 'again'")
	second := r
	second.CallID, second.OtherID = "c2", "inv_2"
	b.double(true, second)
	second.CallID, second.OtherID = "c3", "inv_3"
	b.double(false, second)
	if got := b.theStep("a"); got.ExternalID != "inv_1" || got.OtherID != "inv_2" || got.By != "" || got.Reason != "" {
		b.Errorf("%+v", got)
	}
	if counts, err := b.stepAdmin().Count(b.ctx, "", 0); err != nil || counts[ledger.Doubled] != 1 {
		b.Errorf("%v, %v", counts, err)
	}
	once := stepOf("a", "mail")
	b.markStep(once)
	once.Via, once.ExternalID = ledger.ViaCall, "mail_1"
	b.doneStep(once)
	for _, made := range []string{"inv_1", "inv_2"} {
		if found, err := b.stepAdmin().Find(b.ctx, "erp", made, 10); err != nil || len(found) != 1 || found[0].Step != "invoice" {
			b.Errorf("%s: %+v, %v", made, found, err)
		}
	}
	for system, want := range map[string]int{"": 1, "erp": 1, "crm": 0} {
		if found, err := b.stepAdmin().Search(b.ctx, ledger.Filter{Doubled: true, System: system}, 10); err != nil || len(found) != want || want == 1 && found[0].OtherID != "inv_2" {
			b.Errorf("doubled in %q: %+v, %v", system, found, err)
		}
	}
}
