package storetest

import (
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

var importTests = []test{
	{name: "imported attempts keep their numbers and times", run: importsAttempts},
}

//evidence:export
func importsAttempts(b *bundle) {
	b.die(letter("a"), letter("b"))
	at := time.Date(2026, 3, 1, 2, 14, 7, 123456000, time.UTC)
	var want []inbox.Attempt
	for n := range 3 {
		want = append(want, inbox.Attempt{
			ID: letter("a").ID(), N: n + 1, Class: "transient", Error: "é'", ErrorType: "*t", Duration: time.Millisecond, Host: "h", Build: "b",
			Trace: headrace.TraceContext{Parent: "p", State: "s"}, At: at.Add(time.Duration(n) * time.Hour),
		})
	}
	again := inbox.Attempt{ID: want[0].ID, N: 2, At: at}
	for _, attempts := range [][]inbox.Attempt{{want[2], want[0], want[1]}, {again}, nil} {
		b.in(func(t *txn.Txn) { b.must(b.Store.Operations().Imports.AddAttempts(b.ctx, t, attempts)) })
	}
	got, err := b.Store.Inbox().Attempts(b.ctx, want[0].ID)
	b.must(err)
	if diff := cmp.Diff(want, got); diff != "" {
		b.Errorf("(-want +got) %s", diff)
	}
	if others, err := b.Store.Inbox().Attempts(b.ctx, letter("b").ID()); err != nil || len(others) != 0 {
		b.Errorf("of another message: %+v, %v", others, err)
	}
	b.in(func(t *txn.Txn) {
		if err := b.Store.Operations().Imports.AddAttempts(b.ctx, t, []inbox.Attempt{{ID: inbox.ID{Scope: "billing/x", Key: "a\x00"}, N: 1, At: at}}); err == nil {
			b.Error("a key with NUL is taken")
		}
	})
}
