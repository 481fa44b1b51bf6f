package editing_test

import (
	"testing"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/editing"
	"github.com/headrace/headrace/internal/enginetest"
	"github.com/headrace/headrace/internal/task"
)

// An edited message is applied once with the edited content. A redelivery of the bytes that came is
// a duplicate, and the sender's corrected copy a conflict, which the next edit shows.
//
//evidence:edit
func TestEdit(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		const original = `{"id":"A","total":-1}`
		came := f.letter(original)
		a := f.edited(came, `{"id":"A","total":-2}`)
		if a.Rev != 1 || a.Key != "A" || len(a.Copies) != 0 {
			f.Errorf("%+v", a)
		}
		l := f.get(came.LetterID)
		if l.Rev != 1 || string(l.Delivery.Payload) != original || l.Delivery.Metadata["edited"] != "" || string(l.Message().Payload) != `{"id":"A","total":-2}` || l.Message().Metadata["edited"] != "yes" {
			f.Errorf("%+v", l)
		}
		if f.deliver(original) != task.Duplicate {
			f.Errorf("the original again is %v", f.last)
		}
		if f.deliver(`{"id":"A","total":5}`) != task.Conflict {
			f.Errorf("a corrected copy is %v", f.last)
		}
		a = f.edited(l, `{"id":"A","total":5}`)
		if len(a.Copies) != 1 || !a.Copies[0].Same || a.Copies[0].State != dlq.Open {
			f.Errorf("%+v", a)
		}
		f.redrive(l.LetterID)
		f.effects("A 5")
		if got := f.fingerprint("A"); got != came.Delivery.Fingerprint {
			f.Errorf("the inbox has the fingerprint %q, and the message came with %q", got, came.Delivery.Fingerprint)
		}
		if f.deliver(original) != task.Duplicate || f.deliver(`{"id":"A","total":5}`) != task.Conflict {
			f.Errorf("after it was applied the copies are %v", f.last)
		}
		f.effects("A 5")
		edits, err := f.Store.Operations().Corrections.Edits(f.Context(), l.LetterID)
		if err != nil || len(edits) != 2 || edits[1].Rev != 2 || edits[1].By != "ann" || edits[1].DBUser != "anna" || edits[1].Reason != "INC-7" || edits[1].At.IsZero() {
			f.Errorf("%+v, %v", edits, err)
		}
		trail, err := f.Store.Letters().Trail(f.Context(), l.LetterID)
		if err != nil || len(trail) != 3 || trail[0].Action != "edit" || trail[1].Detail != "rev 2" {
			f.Errorf("%+v, %v", trail, err)
		}
		_, err = f.edit(f.get(l.LetterID), original)
		f.refused(err, "is redriven")
	})
}

// A message that fails again after an edit is a letter with the edited content, and still the
// message that came.
//
//evidence:edit
func TestEditThatFailsAgain(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		came := f.letter(`{"id":"A","total":-1}`)
		f.edited(came, `{"id":"A","total":-2}`)
		f.redrive(came.LetterID)
		again := f.get(f.Letters()[0].LetterID)
		if again.PreviousID != came.LetterID || again.Rev != 0 || string(again.Delivery.Payload) != `{"id":"A","total":-2}` || again.Delivery.Fingerprint != came.Delivery.Fingerprint {
			f.Errorf("%+v", again)
		}
		if f.fingerprint("A") != came.Delivery.Fingerprint || f.deliver(`{"id":"A","total":-1}`) != task.Duplicate {
			f.Errorf("the original again is %v", f.last)
		}
		f.edited(again, `{"id":"A","total":3}`)
		f.redrive(again.LetterID)
		f.effects("A 3")
	})
}

// What an edit may not change is refused, and nothing is written.
//
//evidence:edit
func TestEditThatIsRefused(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		l := f.letter(`{"id":"A","total":-1}`)
		for payload, says := range map[string]string{
			`{"id":"B","total":1}`:   "this would be another message, B",
			`{"total":1}`:            "no key",
			`{"id":"A","total":"x"`:  "no key",
			`{"id":"A","total":"x"}`: "cannot read it",
		} {
			_, err := f.edit(l, payload)
			f.refused(err, says)
		}
		_, err := ask[editing.Edited](f, editing.EditKind, editing.Edit{LetterID: 99})
		f.refused(err, "no letter 99")
		if a, err := ask[editing.Edited](f, editing.EditKind, editing.Edit{LetterID: l.LetterID, Payload: []byte(`{"id":"A","total":1}`), DryRun: true}); err != nil || a.Key != "A" || !a.DryRun {
			f.Errorf("dry run: %+v, %v", a, err)
		}
		if now := f.get(l.LetterID); now.Rev != 0 || f.Count("SELECT count(*) FROM headrace_letter_edits") != 0 {
			f.Errorf("rev %d", now.Rev)
		}
		f.edited(l, `{"id":"A","total":1}`)
		_, err = f.edit(l, `{"id":"A","total":2}`) // another person saw it before
		f.refused(err, "edited or decided on meanwhile")
		conflict := f.letter(`{"id":"A","total":7}`)
		_, err = f.edit(conflict, `{"id":"A","total":8}`)
		f.refused(err, "is a conflict")
		f.redrive(l.LetterID)
		f.effects("A 1")
	})
}

// The order key of a strict message may not change.
func TestEditKeepsOrder(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		f.h.Strict, f.h.Intake = true, true
		d := enginetest.Delivery(f.h, "A", "k")
		d.Payload = []byte(`{"id":"A","order":"k","total":-1}`)
		f.e.PutAll(f.h, d)
		f.work()
		l := f.get(f.Letters()[0].LetterID)
		_, err := f.edit(l, `{"id":"A","order":"other","total":1}`)
		f.refused(err, "order key would be other")
		f.edited(l, `{"id":"A","order":"k","total":1}`)
		f.redrive(l.LetterID)
		f.effects("A 1")
	})
}

// A letter without a key is sent under the key of the edited bytes, at once or by a job; the same
// bytes again are a duplicate.
//
//evidence:edit
func TestEditGivesAKey(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		for i, key := range []string{"A", "B"} {
			original := `{"total":` + string(rune('1'+i)) + `}`
			l := f.letter(original)
			if !inbox.IsStandIn(l.Delivery.Key) {
				f.Fatalf("%+v", l)
			}
			if a := f.edited(l, `{"total":3}`); a.Key != "" || a.Why == "" {
				f.Errorf("%+v", a)
			}
			if key == "A" {
				f.redrive(l.LetterID) // it is the same letter, open again
				f.effects()
			}
			l = f.get(l.LetterID)
			if a := f.edited(l, `{"id":"`+key+`","total":9}`); a.Key != key || a.Inbox != "" {
				f.Errorf("%+v", a)
			}
			if key == "A" {
				f.redrive(l.LetterID)
			} else {
				f.run(f.plan(redriveKind, l.LetterID))
				f.work()
			}
			if f.deliver(original) != task.Duplicate || f.deliver(`{"id":"`+key+`","total":9}`) != task.Duplicate {
				f.Errorf("a copy is %v", f.last)
			}
		}
		f.effects("A 9", "B 9")
	})
}

// A letter without a key is open again as the message that came, also if retention has removed its row.
func TestEditThatGivesNoKey(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		l := f.letter(`{"total":1}`)
		f.edited(l, `{"total":2}`)
		if _, err := redrive.New(f.Store.Store).Redrive(f.Context(), redrive.Request{Filter: dlq.Filter{IDs: []int64{l.LetterID}}, By: "ann"}); err != nil {
			f.Fatal(err)
		}
		f.Exec("DELETE FROM headrace_inbox")
		f.work()
		if now := f.get(l.LetterID); now.State != dlq.Open || now.Rev != 1 || f.fingerprint(l.Delivery.Key) != l.Delivery.Fingerprint {
			f.Errorf("%+v", now)
		}
		if f.deliver(`{"total":1}`) != task.Duplicate {
			f.Errorf("the original again is %v", f.last)
		}
	})
}

// The key of an edit may be taken: by the same message, or by another.
//
//evidence:edit
func TestEditWhoseKeyIsTaken(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		f.deliver(`{"id":"A","total":1}`)
		other := f.letter(`{"id":"D","total":-1}`)
		l := f.letter(`{"total":1}`)
		_, err := f.edit(l, `{"id":"A","total":2}`)
		f.refused(err, "belongs to another message, which is done")
		_, err = f.edit(l, `{"id":"D","total":-1}`)
		f.refused(err, "has another letter")
		a, err := ask[editing.Edited](f, editing.EditKind, editing.Edit{LetterID: l.LetterID, Payload: []byte(`{"id":"A","total":1}`), Metadata: map[string]string{}})
		if err != nil || a.Inbox != inbox.Done || a.Key != "A" {
			f.Errorf("%+v, %v", a, err)
		}
		f.run(f.plan(redriveKind, l.LetterID))
		f.work()
		f.effects("A 1")
		if now := f.get(l.LetterID); now.State != dlq.Redriven {
			f.Errorf("the letter is %s", now.State)
		}
		// Taken after the edit: it stays open.
		late := f.letter(`{"total":2}`)
		f.edited(late, `{"id":"L","total":2}`)
		f.deliver(`{"id":"L","total":3}`)
		f.run(f.plan(redriveKind, late.LetterID))
		if now := f.get(late.LetterID); now.State != dlq.Open || f.get(other.LetterID).State != dlq.Open {
			f.Errorf("the letter is %s", now.State)
		}
		f.effects("A 1", "L 3")
	})
}

// A plan sends only what its planner saw.
//
//evidence:edit
func TestEditAfterThePlan(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		for _, kind := range []string{redriveKind, discardKind} {
			l := f.letter(`{"id":"` + kind + `","total":-1}`)
			id := f.plan(kind, l.LetterID)
			f.edited(l, `{"id":"`+kind+`","total":1}`)
			f.run(id)
			if e := f.entries(id)[0]; e.State != "skipped" || e.Why != "it was edited after it was listed: plan it again" || f.get(l.LetterID).State != dlq.Open {
				f.Errorf("%s: %+v", kind, e)
			}
		}
		f.effects()
	})
}

// A new key applies a conflict once, and a letter without a key.
//
//evidence:edit
func TestNewKey(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		f.deliver(`{"id":"A","total":1}`)
		newKey := func(l dlq.Letter, key string) error {
			_, err := ask[editing.NewKey](f, editing.NewKeyKind, editing.NewKey{LetterID: l.LetterID, Rev: l.Rev, Key: key})
			f.work()
			return err
		}
		conflict := f.letter(`{"id":"A","total":2}`)
		for key, says := range map[string]string{"A": "taken by another message", "": "give", "stand-in:x": "stand-in", "A\u200b2": "not seen", " A2": "blank", "A\n2": "control"} {
			f.refused(newKey(conflict, key), says)
		}
		if err := newKey(conflict, "A2"); err != nil {
			f.Error(err)
		}
		f.refused(newKey(conflict, "A3"), "is redriven")
		f.effects("A 1", "A2 2")
		own := f.letter(`{"id":"B","total":-1}`)
		f.refused(newKey(own, "B2"), "only a conflict")
		none := f.letter(`{"total":4}`)
		f.edited(none, `{"total":5}`)
		f.refused(newKey(none, "N"), "edited or decided on meanwhile")
		none = f.get(none.LetterID)
		if err := newKey(none, "N"); err != nil {
			f.Error(err)
		}
		if f.deliver(`{"total":4}`) != task.Duplicate {
			f.Errorf("a copy is %v", f.last)
		}
		keyed := f.letter(`{"total":6}`)
		f.edited(keyed, `{"id":"K","total":6}`)
		f.refused(newKey(f.get(keyed.LetterID), "K2"), "finds the key K in it")
		f.effects("A 1", "A2 2", "N 5")
		f.deliver(`{"id":"F\u200b","total":7}`) // another system has such keys
		if err := newKey(f.letter(`{"id":"F\u200b","total":8}`), "F\u200b2"); err != nil {
			f.Error(err)
		}
	})
}
