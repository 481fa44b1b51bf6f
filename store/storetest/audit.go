package storetest

import (
	"slices"
	"strconv"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headrace/headrace/audit"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/store/txn"
)

var auditTests = []test{
	{name: "what was done is listed by page and by subject", run: auditPages},
	{name: "a pause, a resume and a refused request are in it", run: auditOfPauses},
}

func (b *bundle) audit(f audit.Filter, before int64, limit int) []audit.Row {
	b.Helper()
	rows, err := b.Store.Operations().Audit.List(b.ctx, f, before, limit)
	b.must(err)
	return rows
}

func auditPages(b *bundle) {
	a := b.Store.Operations().Audit
	ids := b.die(letter("a"))
	want := []audit.Row{
		{Kind: audit.Suspect, Action: "begin", By: "ann", Reason: "a restore", Detail: "until now"},
		{Kind: audit.Letter, Subject: strconv.FormatInt(ids[0], 10), Action: "redrive", By: "bob", Reason: "fixed", RedriveID: 42},
		{Kind: audit.Suspect, Action: "end", By: "\u00e9ve", Reason: "'; --"},
	}
	b.in(func(t *txn.Txn) {
		b.must(a.Record(b.ctx, t, want[0]))
		b.must(b.Store.Letters().Record(b.ctx, t, []dlq.Audit{{LetterID: ids[0], Action: "redrive", By: "bob", Reason: "fixed", RedriveID: 42}}))
		b.must(a.Record(b.ctx, t, want[2]))
	})
	slices.Reverse(want)
	got := b.audit(audit.Filter{}, 0, 2)
	got = append(got, b.audit(audit.Filter{}, got[1].ID, 2)...)
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(audit.Row{}, "ID", "At", "DBUser")); diff != "" {
		b.Errorf("all (-want +got):\n%s", diff)
	}
	for _, r := range got {
		if r.At.IsZero() || (r.DBUser == "") == b.harness.ConcurrentWriters { // SQLite has no logins
			b.Errorf("%+v", r)
		}
	}
	if of := b.audit(audit.Filter{Kind: audit.Letter, Subject: want[1].Subject}, 0, 10); len(of) != 1 || of[0].Action != "redrive" {
		b.Errorf("of the letter: %+v", of)
	}
	if of := b.audit(audit.Filter{Kind: audit.Suspect}, got[0].ID, 10); len(of) != 1 || of[0].Action != "begin" {
		b.Errorf("of suspect mode, the second page: %+v", of)
	}
	if of := b.audit(audit.Filter{Kind: audit.Letter, Subject: "\x00"}, 0, 10); len(of) != 0 {
		b.Errorf("of nothing: %+v", of)
	}
}

func auditOfPauses(b *bundle) {
	o := b.Store.Operations()
	for range 2 { // the second time nothing changes
		_, err := o.Pauses.Pause(b.ctx, instance.Pause{Consumer: "billing", By: "ann", Reason: "the bank is down"})
		b.must(err)
	}
	for range 2 {
		_, err := o.Pauses.Resume(b.ctx, "billing", "bob")
		b.must(err)
	}
	want := []audit.Row{
		{Kind: audit.Consumer, Subject: "billing", Action: "resume", By: "bob"},
		{Kind: audit.Consumer, Subject: "billing", Action: "pause", By: "ann", Reason: "the bank is down"},
	}
	ignored := cmpopts.IgnoreFields(audit.Row{}, "ID", "At", "DBUser")
	if diff := cmp.Diff(want, b.audit(audit.Filter{Kind: audit.Consumer, Subject: "billing"}, 0, 10), ignored); diff != "" {
		b.Errorf("pauses (-want +got):\n%s", diff)
	}
	for state, refused := range map[instance.RequestState]int{instance.RequestFailed: 0, instance.RequestDone: 0, instance.RequestRefused: 1} {
		id := b.ask(instance.Request{Kind: "apply", Consumer: "billing", By: "ann", Reason: "fixed"}, time.Minute)
		b.takeRequest(pod1, "apply")
		for range 2 {
			b.must(o.Requests.Answer(b.ctx, id, pod1, instance.Answer{State: state, Value: []byte("1"), Error: "it has expired"}))
		}
		rows := b.audit(audit.Filter{Kind: audit.Request, Subject: strconv.FormatInt(id, 10)}, 0, 10)
		r, _ := b.asked(id)
		detail := "apply of billing: it has expired"
		if r.DBUser != "" {
			detail = "apply of billing by the login " + r.DBUser + ": it has expired"
		}
		if len(rows) != refused || refused == 1 && (rows[0].Action != "refuse" || rows[0].By != "ann" || rows[0].Reason != "fixed" || rows[0].Detail != detail) {
			b.Errorf("%s: %+v", state, rows)
		}
	}
}
