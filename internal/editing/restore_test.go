package editing_test

import (
	"testing"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/editing"
	"github.com/headrace/headrace/internal/enginetest"
	"github.com/headrace/headrace/internal/redriving"
)

const (
	redriveKind = string(job.Redriving)
	discardKind = string(job.Discarding)
)

// plan plans a job for letters.
func (f *fixture) plan(kind string, ids ...int64) int64 {
	f.Helper()
	self := instance.Instance{ID: "1", Consumer: enginetest.Consumer, Build: "v1", Handlers: []string{f.h.Name}}
	if err := f.Store.Operations().Instances.Start(f.Context(), self); err != nil {
		f.Fatal(err)
	}
	o := job.DefaultOptions()
	o.Stages = nil
	r, err := f.job.Plan(f.Context(), redriving.Plan{Kind: job.Kind(kind), Filter: dlq.Filter{IDs: ids}, Options: o}, "ann")
	if err != nil {
		f.Fatal(err)
	}
	return r.ID
}

// run applies a planned job, and takes steps until it sends nothing more.
func (f *fixture) run(id int64) {
	f.Helper()
	if _, err := f.job.Apply(f.Context(), redriving.Apply{ID: id}, "ann", "INC-7"); err != nil {
		f.Fatal(err)
	}
	for {
		taken, err := f.job.Step(f.Context(), id)
		if err != nil {
			f.Fatal(err)
		}
		if taken.Action != job.Send {
			return
		}
	}
}

func (f *fixture) entries(id int64) []job.Entry {
	f.Helper()
	list, err := f.Store.Operations().Redrives.Entries(f.Context(), id, "", 0, 100)
	if err != nil || len(list) == 0 {
		f.Fatalf("%+v, %v", list, err)
	}
	return list
}

func (f *fixture) restore(args editing.Restore) (editing.Restored, error) {
	f.Helper()
	return ask[editing.Restored](f, editing.RestoreKind, args)
}

func (f *fixture) discard(ids ...int64) {
	f.Helper()
	done, err := redrive.New(f.Store.Store).Discard(f.Context(), redrive.Request{Filter: dlq.Filter{IDs: ids}, By: "ann", Reason: "no", OpenCalls: true})
	if err != nil || done.Done != len(ids) {
		f.Fatalf("%+v, %v", done, err)
	}
}

// A discard is taken back whole: the letter is open and its message dead. Of a conflict only the
// letter moves.
//
//evidence:restore
func TestRestore(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		f.deliver(`{"id":"C","total":1}`)
		own, conflict, none := f.letter(`{"id":"A","total":-1}`), f.letter(`{"id":"C","total":2}`), f.letter(`{"total":3}`)
		f.edited(own, `{"id":"A","total":8}`)
		ids := []int64{own.LetterID, conflict.LetterID, none.LetterID}
		f.discard(ids...)
		if f.State(f.h, "A") != inbox.Discarded {
			f.Errorf("A is %s", f.State(f.h, "A"))
		}
		r, err := f.restore(editing.Restore{IDs: append(ids, 99)})
		if err != nil || r.Done != 3 || r.Skipped != 1 || r.Skips[0].Why != "there is no letter of that number" {
			f.Errorf("%+v, %v", r, err)
		}
		for _, id := range ids {
			trail, err := f.Store.Letters().Trail(f.Context(), id)
			if l := f.get(id); err != nil || l.State != dlq.Open || trail[len(trail)-1].Action != "restore" || trail[len(trail)-1].By != "ann" {
				f.Errorf("%+v, %+v, %v", l.State, trail, err)
			}
		}
		if f.State(f.h, "A") != inbox.Dead || f.State(f.h, "C") != inbox.Done || f.State(f.h, none.Delivery.Key) != inbox.Dead {
			f.Errorf("A is %s, C is %s, the one without a key is %s", f.State(f.h, "A"), f.State(f.h, "C"), f.State(f.h, none.Delivery.Key))
		}
		_, err = f.restore(editing.Restore{IDs: ids})
		f.refused(err, "it is open")
		f.redrive(own.LetterID)
		_, err = f.restore(editing.Restore{IDs: []int64{own.LetterID}})
		f.refused(err, "it is redriven")
		f.effects("C 1", "A 8")
	})
}

// A message whose row is gone is recorded again; one that came again meanwhile keeps what became of
// it.
//
//evidence:restore
func TestRestoreAfterRetention(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		gone, applied, dead := f.letter(`{"id":"A","total":-1}`), f.letter(`{"id":"B","total":-1}`), f.letter(`{"id":"C","total":-1}`)
		f.discard(gone.LetterID, applied.LetterID, dead.LetterID)
		f.Exec("DELETE FROM headrace_attempts")
		f.Exec("DELETE FROM headrace_inbox")
		f.deliver(`{"id":"B","total":1}`)
		f.letter(`{"id":"C","total":-1}`)
		r, err := f.restore(editing.Restore{IDs: []int64{gone.LetterID, applied.LetterID, dead.LetterID}})
		if err != nil || r.Done != 1 || r.Skipped != 2 {
			f.Errorf("%+v, %v", r, err)
		}
		for _, s := range r.Skips {
			want := map[int64]string{applied.LetterID: "its message is done", dead.LetterID: "its message has another letter, or another decision on it is under way"}[s.LetterID]
			if s.Why != want {
				f.Errorf("%d: %q, want %q", s.LetterID, s.Why, want)
			}
		}
		if f.State(f.h, "A") != inbox.Dead || f.State(f.h, "B") != inbox.Done {
			f.Errorf("A is %s, B is %s", f.State(f.h, "A"), f.State(f.h, "B"))
		}
	})
}

// The steps that a discard has finished need a person again.
func TestRestoreOfSteps(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		l := f.letter(`{"id":"A","total":-1}`)
		f.Exec(`INSERT INTO headrace_steps (scope, key, step, system, state, call_id, input_hash, first_call_at, last_call_at, changed_at)
			SELECT scope, key, 'pay', 'bank', 'parked', 'c', '', created_at, created_at, created_at FROM headrace_dead_letters`)
		f.discard(l.LetterID)
		state := func() (s string) {
			if err := f.DB.QueryRow("SELECT state FROM headrace_steps").Scan(&s); err != nil {
				f.Fatal(err)
			}
			return s
		}
		if state() != "skipped" {
			f.Errorf("discarded, it is %s", state())
		}
		if _, err := f.restore(editing.Restore{IDs: []int64{l.LetterID}}); err != nil {
			f.Error(err)
		}
		if state() != "parked" {
			f.Errorf("restored, it is %s", state())
		}
	})
}

// A whole discard is taken back, but for what was decided since.
//
//evidence:restore
func TestRestoreOfAJob(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		var ids []int64
		for _, key := range []string{"A", "B", "C"} {
			ids = append(ids, f.letter(`{"id":"`+key+`","total":-1}`).LetterID)
		}
		id := f.plan(discardKind, ids...)
		_, err := f.restore(editing.Restore{RedriveID: id})
		f.refused(err, "cancel it first")
		f.run(id)
		if f.State(f.h, "B") != inbox.Discarded {
			f.Fatalf("B is %s", f.State(f.h, "B"))
		}
		if _, err := f.restore(editing.Restore{IDs: ids[:1]}); err != nil {
			f.Error(err)
		}
		r, err := f.restore(editing.Restore{RedriveID: id})
		if err != nil || r.Done != 2 || r.Skipped != 1 || r.Skips[0].Why != "it is open" {
			f.Errorf("%+v, %v", r, err)
		}
		trail, err := f.Store.Letters().Trail(f.Context(), ids[2])
		if err != nil || trail[len(trail)-1].Action != "restore" || trail[len(trail)-1].RedriveID != id {
			f.Errorf("%+v, %v", trail, err)
		}
		if f.State(f.h, "A") != inbox.Dead || f.State(f.h, "C") != inbox.Dead {
			f.Errorf("A is %s, C is %s", f.State(f.h, "A"), f.State(f.h, "C"))
		}
		_, err = f.restore(editing.Restore{RedriveID: id})
		f.refused(err, "it is open")
		_, err = f.restore(editing.Restore{RedriveID: id + 1})
		f.refused(err, "there is no R-")
		again := f.plan(redriveKind, ids[0])
		_, err = f.restore(editing.Restore{RedriveID: again})
		f.refused(err, "was no discard")
	})
}

// A process decides on letters of its own consumer, as many as it says, and edits those whose handler it has.
//
//evidence:edit
//evidence:restore
func TestOthersLettersAreRefused(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		open, closed, ofJob := f.letter(`{"id":"A","total":-1}`), f.letter(`{"id":"B","total":-1}`), f.letter(`{"id":"C","total":-1}`)
		f.discard(closed.LetterID)
		id := f.plan(discardKind, ofJob.LetterID)
		f.run(id)
		edit := editing.Edit{LetterID: open.LetterID, Payload: []byte(`{"id":"A","total":1}`)}
		for says, args := range map[string]editing.Restore{
			"is one of consumer test":         {RedriveID: id},
			"it is one of consumer test":      {IDs: []int64{closed.LetterID}},
			"there is no letter to restore":   {},
			"1001 letters are more than 1000": {IDs: make([]int64, editing.MaxLetters+1)},
		} {
			_, err := askOf[editing.Restored](f, "mailer", editing.RestoreKind, args)
			f.refused(err, says)
		}
		_, err := askOf[editing.Edited](f, "mailer", editing.EditKind, edit)
		f.refused(err, "is one of consumer test")
		f.admin.Handlers = nil
		_, err = ask[editing.Edited](f, editing.EditKind, edit)
		f.refused(err, "this process has no handler orders")
		if f.get(open.LetterID).Rev != 0 || f.get(closed.LetterID).State != dlq.Discarded || f.get(ofJob.LetterID).State != dlq.Discarded {
			f.Error("what was refused was done")
		}
	})
}
