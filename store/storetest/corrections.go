package storetest

import (
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

var correctionTests = []test{
	{name: "an edit is kept beside the letter, byte for byte, and goes with it", run: editKeeps},
	{name: "an edit is written once for each rev of an open letter", run: editOnce},
	{name: "discarded letters of a consumer are restored, one of each message", run: restores},
}

// edit writes an edit, and reports whether it was written.
func (b *bundle) edit(e dlq.Edit) (written bool) {
	b.Helper()
	b.in(func(t *txn.Txn) {
		var err error
		written, err = b.Store.Operations().Corrections.Edit(b.ctx, t, e)
		b.must(err)
	})
	return written
}

//evidence:edit
func editKeeps(b *bundle) {
	ids := b.die(letter("a"), letter("b"), letter("untouched"))
	e := dlq.Edit{LetterID: ids[0], Rev: 1, Content: dlq.Content{Payload: []byte("\x00\xff'"), Metadata: map[string]string{"ä": "\x01"}}, By: "ann", Reason: "INC-7", DBUser: "anna"}
	second := dlq.Edit{LetterID: ids[0], Rev: 2, By: "bo"} // a tombstone
	for _, one := range []dlq.Edit{e, second, {LetterID: ids[1], Rev: 1, Content: e.Content}} {
		if !b.edit(one) {
			b.Errorf("%+v was not written", one)
		}
	}
	l := b.letter(ids[0])
	if want := letter("a").Delivery; l.Rev != 2 || l.Edit.Payload != nil || len(l.Edit.Metadata) != 0 || string(l.Delivery.Payload) != string(want.Payload) || l.Message().Payload != nil || l.Message().Fingerprint != want.Fingerprint {
		b.Errorf("%+v", l)
	}
	b.in(func(t *txn.Txn) {
		taken := b.take(t, dlq.Filter{IDs: ids[1:]}, dlq.Redriven, 0, 9)
		if len(taken) != 2 || taken[0].Rev != 1 || taken[1].Rev != 0 {
			b.Fatalf("%+v", taken)
		}
		if diff := cmp.Diff(e.Content, taken[0].Edit); diff != "" {
			b.Errorf("taken, it has (-want +got)\n%s", diff)
		}
		b.must(b.Store.Letters().Record(b.ctx, t, []dlq.Audit{{LetterID: ids[1], Action: "redrive"}, {LetterID: ids[2], Action: "redrive"}}))
	})
	if list, err := b.Store.Letters().List(b.ctx, dlq.Filter{IDs: ids[:1]}, 0, 1); err != nil || len(list) != 1 || list[0].Rev != 2 {
		b.Errorf("%+v, %v", list, err)
	}
	edits, err := b.Store.Operations().Corrections.Edits(b.ctx, ids[0])
	if err != nil || len(edits) != 2 || edits[0].By != "ann" || edits[0].Reason != "INC-7" || edits[0].DBUser != "anna" || edits[0].At.IsZero() || edits[1].Rev != 2 {
		b.Errorf("%+v, %v", edits, err)
	}
	b.exec(b.DB, "DELETE FROM {{schema}}.headrace_inbox WHERE key <> 'a'")
	b.shift(96 * time.Hour)
	b.prune(inbox.PruneRequest{Plan: plan, Limit: 1000}, nil)
	if edits, err := b.Store.Operations().Corrections.Edits(b.ctx, ids[1]); err != nil || len(edits) != 0 {
		b.Errorf("of a letter that is gone: %+v, %v", edits, err)
	}
}

func editOnce(b *bundle) {
	id := b.die(letter("a"))[0]
	for _, c := range []struct {
		rev     int
		written bool
	}{{2, false}, {0, false}, {1, true}, {1, false}, {2, true}} {
		if b.edit(dlq.Edit{LetterID: id, Rev: c.rev}) != c.written {
			b.Errorf("rev %d: not %t", c.rev, c.written)
		}
	}
	b.in(func(t *txn.Txn) {
		b.take(t, dlq.Filter{IDs: []int64{id}}, dlq.Discarded, 0, 1)
		b.must(b.Store.Letters().Record(b.ctx, t, []dlq.Audit{{LetterID: id, Action: "discard"}}))
		_, err := b.Store.Inbox().Transition(b.ctx, t, []inbox.ID{letter("a").ID()}, inbox.Dead, inbox.Discarded)
		b.must(err)
	})
	if b.edit(dlq.Edit{LetterID: id, Rev: 3}) {
		b.Error("a discarded letter was edited")
	}
}

//evidence:restore
func restores(b *bundle) {
	conflict, other := letter("a"), letter("a")
	conflict.Class, conflict.Delivery.Fingerprint = dlq.Conflict, "another"
	first := b.die(letter("a"), conflict, letter("open"))
	discard := func(ids ...int64) {
		b.in(func(t *txn.Txn) {
			b.take(t, dlq.Filter{IDs: ids}, dlq.Discarded, 0, 9)
			for _, id := range ids {
				b.must(b.Store.Letters().Record(b.ctx, t, []dlq.Audit{{LetterID: id, Action: "discard"}}))
			}
		})
	}
	discard(first[:2]...)
	var second []int64
	b.in(func(t *txn.Txn) { second = b.insertAll(t, other) }) // its row was gone for a while
	discard(second...)
	restore := func(consumer string, ids ...int64) (restored []int64) {
		b.in(func(t *txn.Txn) {
			letters, err := b.Store.Operations().Corrections.Restore(b.ctx, t, consumer, ids)
			b.must(err)
			for _, l := range letters {
				if restored = append(restored, l.LetterID); l.ID() != letter("a").ID() || l.Consumer != letter("a").Consumer || l.Handler == "" || l.Delivery.Fingerprint == "" {
					b.Errorf("%+v", l)
				}
			}
		})
		return restored
	}
	all := append(slices.Clone(first), second...)
	if got := restore("another", all...); got != nil {
		b.Errorf("of another consumer: %v", got)
	}
	if got := restore(letter("a").Consumer, all...); !slices.Equal(got, []int64{first[1], second[0]}) {
		b.Errorf("restored %v of %v", got, all)
	}
	if got := restore(letter("a").Consumer, all...); got != nil {
		b.Errorf("restored again: %v", got)
	}
}
