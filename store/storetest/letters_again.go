package storetest

import (
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

// reopen opens the letter again, and reports whether it was redriven.
func (b *bundle) reopen(l dlq.Letter) (m inbox.Claim, reopened bool) {
	b.Helper()
	b.in(func(t *txn.Txn) {
		var err error
		if m, reopened, err = b.Store.Letters().Reopen(b.ctx, t, l); err != nil {
			b.Fatal(err)
		}
	})
	return m, reopened
}

//evidence:undecodable
func letterReopens(b *bundle) {
	const key = "stand-in:a"
	first := b.die(letter(key))[0]
	l := dlq.Letter{LetterID: first, Error: "no key", ErrorFingerprint: "0123456789abcdef", Chain: []string{"no key"}}
	if _, reopened := b.reopen(l); reopened {
		b.Error("an open letter was opened again")
	}
	b.in(func(t *txn.Txn) { b.take(t, dlq.Filter{IDs: []int64{first}}, dlq.Redriven, 0, 1) })
	if m, reopened := b.reopen(l); !reopened || m.ID != letter(key).ID() || m.Fingerprint != letter(key).Delivery.Fingerprint {
		b.Fatalf("%+v, %t", m, reopened)
	}
	got, err := b.Store.Letters().Get(b.ctx, first)
	if err != nil || got.State != dlq.Open || got.Error != "no key" || got.ErrorFingerprint != l.ErrorFingerprint || len(got.Chain) != 1 || got.Redrives != letter(key).Redrives+1 {
		b.Errorf("%+v, %v", got, err)
	}
}

//evidence:undecodable
func letterCounts(b *bundle) {
	ids := b.die(letter("stand-in:a"), letter("stand-in:b"), letter("plain"))
	a, other := letter("stand-in:a").ID(), letter("stand-in:b").ID()
	other.Scope = "another"
	b.in(func(t *txn.Txn) {
		if err := b.Store.Letters().CountDeliveries(b.ctx, t, []inbox.ID{a, other, a}); err != nil {
			b.Fatal(err)
		}
	})
	for i, want := range []int{3, 1, 0} {
		if got, err := b.Store.Letters().Get(b.ctx, ids[i]); err != nil || got.Deliveries != want {
			b.Errorf("%s: %d deliveries, %v; want %d", got.Delivery.Key, got.Deliveries, err, want)
		}
	}
}
