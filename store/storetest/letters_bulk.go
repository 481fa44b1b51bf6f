package storetest

import (
	"slices"
	"sync"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

// letterDecided: a conflict that was redriven under a new key comes again from the broker.
//
//evidence:conflict
func letterDecided(b *bundle) {
	b.park("a", inbox.Done)
	conflict := letter("a")
	conflict.Class, conflict.Delivery.Fingerprint = dlq.Conflict, "other print"
	for _, to := range []dlq.State{dlq.Redriven, dlq.Discarded} {
		conflict.Delivery.Fingerprint += "'"
		id := b.die(conflict)[0]
		b.in(func(t *txn.Txn) { b.take(t, dlq.Filter{IDs: []int64{id}}, to, 0, 1) })
		b.wantThere("a conflict that was "+string(to), conflict, id)
		if l := b.letter(id); l.State != to {
			b.Errorf("the letter is %s, want %s", l.State, to)
		}
	}
	conflict.Delivery.Fingerprint = "a third one"
	b.die(conflict)
}

func letterBulk(b *bundle) {
	there := b.die(letter("there"))[0]
	b.in(func(t *txn.Txn) { b.fail(t, "z"); b.fail(t, "z") })
	conflict, again := letter("there"), letter("there")
	conflict.Class, conflict.Delivery.Fingerprint = dlq.Conflict, "another"
	again.Error = "again"
	letters := []dlq.Letter{letter("z"), again, letter("a"), conflict, letter("m")}
	letters[4].Delivery.Payload, letters[4].Delivery.Metadata = awkward[3].payload, awkward[3].metadata
	var got []dlq.Inserted
	b.in(func(t *txn.Txn) {
		for _, key := range []string{"z", "a", "m"} {
			b.record(t, key, inbox.Dead)
		}
		var err error
		got, err = b.Store.Letters().Insert(b.ctx, t, letters)
		b.must(err)
		if none, err := b.Store.Letters().Insert(b.ctx, t, nil); err != nil || len(none) != 0 {
			b.Errorf("of none: %+v, %v", none, err)
		}
	})
	if len(got) != 5 || got[1] != (dlq.Inserted{LetterID: there}) {
		b.Fatalf("%+v, want the second to be letter %d", got, there)
	}
	last := there
	for _, n := range []int{0, 2, 3, 4} {
		if !got[n].Written || got[n].LetterID <= last {
			b.Errorf("letter %d is %+v, after %d", n, got[n], last)
		}
		last = got[n].LetterID
		b.wantLetter(b.letter(last), letters[n])
	}
	if l, attempts := b.letter(got[0].LetterID), b.attempts("z"); !l.FirstFailure.Equal(attempts[0].At) || !l.LastFailure.Equal(attempts[1].At) {
		b.Errorf("failed from %s to %s", l.FirstFailure, l.LastFailure)
	}
}

func lettersCross(b *bundle) {
	b.park("a", inbox.Done)
	conflicts := graves("a", "m", "z")
	b.crossed(func(t *txn.Txn) { b.insert(t, conflicts[1]) }, func(t *txn.Txn, backward bool) error {
		mine := slices.Clone(conflicts)
		if backward {
			slices.Reverse(mine)
		}
		_, err := b.Store.Letters().Insert(b.ctx, t, mine)
		return err
	})
}

func letterAtOnce(b *bundle) {
	first, second := b.begin(), b.begin()
	id := b.insert(first, graves("a")[0])
	answer := make(chan []dlq.Inserted, 1)
	var wait sync.WaitGroup
	wait.Go(func() {
		got, err := b.Store.Letters().Insert(b.ctx, second, graves("b", "a"))
		if err != nil {
			b.Errorf("Insert: %v", err)
		}
		answer <- got
	})
	b.awaitWaiters(1)
	b.commit(first)
	got := receive(b, answer)
	wait.Wait()
	if len(got) != 2 || !got[0].Written || got[1] != (dlq.Inserted{LetterID: id}) {
		b.Errorf("%+v, want the second to be letter %d", got, id)
	}
	b.commit(second)
}
