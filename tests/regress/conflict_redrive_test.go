package regress

import (
	"testing"

	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
)

// makeConflict applies m, and delivers another message under its key, which becomes a
// conflict letter. deliver delivers that one again.
func makeConflict(f *fixture) (letter dlq.Letter, deliver func()) {
	f.Helper()
	c := f.consumer(f.st, f.config())
	consumer.Handle(c, topic, insert)
	f.start(c)
	f.acked(f.deliver("m", 1))
	deliver = func() { f.acked(f.deliver("m", 2)) }
	deliver()
	letters := f.letters()
	if len(letters) != 1 || letters[0].Class != dlq.Conflict {
		f.Fatalf("letters %+v", letters)
	}
	return letters[0], deliver
}

// onlyLetter checks that the letter is the only one, in the state.
func onlyLetter(f *fixture, letter dlq.Letter, state dlq.State) {
	f.Helper()
	letters := f.letters()
	if len(letters) != 1 || letters[0].LetterID != letter.LetterID || letters[0].State != state {
		for _, l := range letters {
			f.Errorf("letter %d is %s, %s, for key %q; want letter %d alone, %s", l.LetterID, l.State, l.Class, l.Delivery.Key, letter.LetterID, state)
		}
	}
}

func appliedWith(f *fixture, n int) int {
	f.Helper()
	return f.count("SELECT count(*) FROM effects WHERE n = $1", n)
}

// A conflict that was redriven under a new key is decided: when its message is delivered
// again, there is no other letter, and it is not applied again.
//
// Without that the redelivery made a new open letter, whose redrive under a third key
// applied the message a second time.
//
//evidence:conflict
func TestRedrivenConflictStaysDecided(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(f *fixture) {
		letter, deliver := makeConflict(f)
		request := redrive.Request{Filter: dlq.Filter{IDs: []int64{letter.LetterID}}, NewKey: "m-2", By: "ana"}
		if r, err := redrive.New(f.st).Redrive(f.Context(), request); err != nil || r.Done != 1 {
			f.Fatal(r, err)
		}
		f.eventually("it is applied", func() bool { return appliedWith(f, 2) == 1 })
		for range 3 {
			deliver()
		}
		onlyLetter(f, letter, dlq.Redriven)
		request = redrive.Request{All: true, By: "ana"}
		if r, err := redrive.New(f.st).Redrive(f.Context(), request); err != nil || r.Done != 0 {
			f.Error(r, err)
		}
		if appliedWith(f, 1) != 1 || appliedWith(f, 2) != 1 {
			f.Errorf("the first was applied %d times, the second %d times", appliedWith(f, 1), appliedWith(f, 2))
		}
	})
}

// A third message under the key is a conflict of its own.
//
//evidence:conflict
func TestAnotherConflictIsAnotherLetter(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(f *fixture) {
		letter, _ := makeConflict(f)
		request := redrive.Request{Filter: dlq.Filter{IDs: []int64{letter.LetterID}}, By: "ana", Reason: "a test order"}
		if r, err := redrive.New(f.st).Discard(f.Context(), request); err != nil || r.Done != 1 {
			f.Fatal(r, err)
		}
		f.acked(f.deliver("m", 3))
		if n := len(f.letters()); n != 2 {
			f.Errorf("%d letters for two conflicts", n)
		}
	})
}

// A conflict that was discarded stays so when its message is delivered again.
//
// Without that each redelivery opened a letter that a person had decided on.
//
//evidence:conflict
func TestDiscardedConflictStaysDecided(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(f *fixture) {
		letter, deliver := makeConflict(f)
		request := redrive.Request{Filter: dlq.Filter{IDs: []int64{letter.LetterID}}, By: "ana", Reason: "a test order"}
		if r, err := redrive.New(f.st).Discard(f.Context(), request); err != nil || r.Done != 1 {
			f.Fatal(r, err)
		}
		for range 3 {
			deliver()
		}
		onlyLetter(f, letter, dlq.Discarded)
		if appliedWith(f, 2) != 0 {
			f.Error("the discarded message was applied")
		}
	})
}
