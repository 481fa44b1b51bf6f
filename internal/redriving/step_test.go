package redriving_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/redriving"
)

// A redrive goes on in stages as long as its letters succeed, never has more under way than the
// window, and counts what became of each letter.
//
//evidence:redrive-job
func TestStages(t *testing.T) {
	onBoth(t, func(b *fixture) {
		ids := b.die(many(230)...)
		id := b.run()
		var sizes []int
		for range 100 {
			d := b.step(id)
			if d.Action == job.Finish {
				break
			}
			items := b.ready()
			if r := b.get(id); len(items) > r.Window() || d.Action == job.Wait && d.Why == "" {
				b.Fatalf("%d messages are under way in stage %d: %+v", len(items), r.Stage, d)
			}
			if d.Action == job.Send {
				sizes = append(sizes, len(items))
			}
			b.succeed(items...)
		}
		if want := []int{1, 10, 100, 100, 19}; !slices.Equal(sizes, want) {
			b.Errorf("letters were sent in steps of %d, want %d", sizes, want)
		}
		r := b.get(id)
		if r.State != job.Done || r.Succeeded != 230 || r.Queued() != 0 || r.UnderWay() != 0 || r.Ended.IsZero() {
			b.Errorf("%+v", r)
		}
		outcomes := b.outcomes(id)
		for _, letterID := range ids {
			if outcomes[letterID].State != job.Succeeded || b.letterState(letterID) != dlq.Redriven {
				b.Errorf("letter %d: %+v", letterID, outcomes[letterID])
			}
		}
		trail, err := b.st.Letters().Trail(b.ctx, ids[0])
		if b.must(err); len(trail) != 1 || trail[0].By != "bo" || trail[0].Reason != "fixed" || trail[0].RedriveID != id {
			b.Errorf("%+v", trail)
		}
	})
}

// A fix that does not work is found by one letter.
//
//evidence:redrive-job
func TestFixThatDoesNotWork(t *testing.T) {
	onBoth(t, func(b *fixture) {
		ids := b.die(many(5)...)
		id := b.run()
		b.step(id)
		b.fail(b.ready()...)
		d := b.step(id)
		r := b.get(id)
		if d.Action != job.Pause || r.State != job.Paused || r.Sent != 1 || r.FailedAgain != 1 || !strings.Contains(r.Why, "failed again as letter") || r.Why != d.Why {
			b.Fatalf("%+v, %+v", d, r)
		}
		if taken, err := b.engine.Step(b.ctx, id); err != nil || taken.Action != "" {
			b.Errorf("a paused job goes on: %+v, %v", taken, err)
		}
		first := b.outcomes(id)[ids[0]]
		next, err := b.st.Letters().Next(b.ctx, ids[0])
		if b.must(err); first.State != job.FailedAgain || first.Next != next || next == 0 {
			b.Errorf("%+v, next %d", first, next)
		}
		for _, letterID := range ids[1:] {
			if b.letterState(letterID) != dlq.Open {
				b.Errorf("letter %d was sent", letterID)
			}
		}
		_, err = b.engine.Resume(b.ctx, redriving.Resume{ID: id, FromStage: 2})
		if says := b.refused(err); !strings.HasSuffix(says, "is in stage 1") {
			b.Error(says)
		}
		// It goes on with the same stage when a person says so.
		_, err = b.engine.Resume(b.ctx, redriving.Resume{ID: id})
		b.must(err)
		if d := b.step(id); d.Action != job.Send || d.N != 1 || d.Stage != 1 {
			b.Errorf("%+v", d)
		}
		_, err = b.engine.Cancel(b.ctx, id, "cy", "enough")
		b.must(err)
		if r := b.get(id); r.State != job.Cancelled || r.Why != "by cy: enough" || b.letterState(ids[2]) != dlq.Open {
			b.Errorf("%+v", r)
		}
	})
}

// What another person has decided is skipped, also when the message failed again since, and the next
// letter takes its place.
//
//evidence:redrive-job
func TestDecidedByAnother(t *testing.T) {
	onBoth(t, func(b *fixture) {
		ids := b.die(many(4)...)
		id, other := b.plan(), b.run(func(p *redriving.Plan) { p.Filter.IDs = ids[:1] })
		b.step(other)
		b.fail(b.ready()...)
		b.step(other)
		_, err := b.engine.Apply(b.ctx, redriving.Apply{ID: id}, "bo", "fixed")
		if says := b.refused(err); !strings.Contains(says, "the fix does not work") {
			b.Errorf("%s", says)
		}
		b.exec("UPDATE headrace_dead_letters SET build = 'v0'", "UPDATE "+b.schema()+"headrace_dead_letters SET build = 'v0'")
		_, err = b.engine.Apply(b.ctx, redriving.Apply{ID: id}, "bo", "fixed")
		b.must(err)
		if d := b.step(id); d.Action != job.Send {
			b.Fatalf("%+v", d)
		}
		b.step(id)
		outcomes := b.outcomes(id)
		if e := outcomes[ids[0]]; e.State != job.Skipped || e.Why != "it is redriven already" {
			b.Errorf("%+v", e)
		}
		if e := outcomes[ids[1]]; e.State != job.Sent {
			b.Errorf("%+v", e)
		}
		if items := b.ready(); len(items) != 1 || items[0].LetterID != ids[1] {
			b.Errorf("%+v", items)
		}
	})
}

// Of a strict order key one letter is under way, the oldest first; when it fails again the later
// ones stay open.
func TestOrderKeys(t *testing.T) {
	onBoth(t, func(b *fixture) {
		letters := append(many(3, strict("k")), letter("other"))
		ids := b.die(letters...)
		id := b.run(func(p *redriving.Plan) { p.Stages = nil })
		if d := b.step(id); d.Action != job.Send || d.N != 2 {
			b.Fatalf("%+v", d)
		}
		d := b.step(id)
		if d.Action != job.Wait || !strings.Contains(d.Why, fmt.Sprintf("2 letters wait behind the order key of letter %d", ids[1])) || b.get(id).Why != d.Why {
			b.Errorf("%+v", d)
		}
		for _, i := range b.ready() {
			if i.Delivery.OrderKey == "k" {
				b.fail(i)
			} else {
				b.succeed(i)
			}
		}
		if d := b.step(id); d.Action != job.Finish {
			b.Fatalf("%+v", d)
		}
		outcomes, r := b.outcomes(id), b.get(id)
		if r.Skipped != 2 || outcomes[ids[2]].State != job.Skipped || !strings.Contains(outcomes[ids[2]].Why, "failed again before it") || b.letterState(ids[1]) != dlq.Open {
			b.Errorf("%+v, %+v", r, outcomes)
		}
	})
}

// A letter whose process ended is sent alone.
func TestCrashedAlone(t *testing.T) {
	onBoth(t, func(b *fixture) {
		b.die(letter("a"), letter("b", class(dlq.Crashed)), letter("c", class(dlq.Crashed)), letter("d"))
		id := b.run(func(p *redriving.Plan) { p.Stages = nil })
		for _, key := range []string{"a", "b", "c", "d"} {
			if d := b.step(id); d.Action != job.Send || d.N != 1 {
				b.Fatalf("%s: %+v", key, d)
			}
			if d := b.step(id); d.Action != job.Wait || d.Why == "" {
				b.Errorf("%s: %+v", key, d)
			}
			items := b.ready()
			if len(items) != 1 || items[0].Delivery.Key != key {
				b.Fatalf("%s: %+v", key, items)
			}
			b.succeed(items...)
		}
		if d := b.step(id); d.Action != job.Finish {
			b.Errorf("%+v", d)
		}
	})
}

// standIn returns a letter under a stand-in key, and ownKey the one that it would be under its own.
func standIn(name string) dlq.Letter {
	return letter("stand-in:"+name, class(dlq.Undecodable), func(l *dlq.Letter) { l.Delivery.ID = name })
}

func ownKey(l dlq.Letter) dlq.Letter {
	l.Delivery.Key = "own-" + l.Delivery.ID
	l.Delivery.Fingerprint, _ = inbox.Payload()(&l.Delivery) // never fails: bytes have a hash
	return l
}

// Letters under stand-in keys are sent under their own keys, unless a message of the key is there.
func TestStandIns(t *testing.T) {
	onBoth(t, func(b *fixture) {
		ids := b.die(standIn("new"), standIn("applied"), standIn("keyless"), standIn("dead"), standIn("other"))
		other := ownKey(standIn("other"))
		other.Delivery.Fingerprint = "another"
		b.die(ownKey(standIn("applied")), ownKey(standIn("dead")), other)
		for _, name := range []string{"new", "applied", "dead", "other"} {
			b.keys[name] = "own-" + name
		}
		apply := b.run(func(p *redriving.Plan) { p.Filter.Key, p.Stages = "own-applied", nil })
		b.step(apply)
		b.succeed(b.ready()...)
		b.step(apply)
		id := b.run(func(p *redriving.Plan) { p.Filter.IDs, p.Stages = ids, nil })
		if d := b.step(id); d.Action != job.Send {
			b.Fatalf("%+v", d)
		}
		outcomes := b.outcomes(id)
		for i, want := range []struct {
			state  job.Outcome
			why    string
			letter dlq.State
			inbox  inbox.State
		}{
			{job.Sent, "", dlq.Redriven, inbox.Discarded},
			{job.Skipped, "applied under its own key already", dlq.Redriven, inbox.Discarded},
			{job.Skipped, "still finds no key", dlq.Open, inbox.Dead},
			{job.Skipped, "there is a letter under its own key", dlq.Open, inbox.Dead},
			{job.Skipped, "belongs to another message", dlq.Open, inbox.Dead},
		} {
			e := outcomes[ids[i]]
			key := "stand-in:" + []string{"new", "applied", "keyless", "dead", "other"}[i]
			if e.State != want.state || !strings.Contains(e.Why, want.why) || b.letterState(ids[i]) != want.letter || b.inboxState(key) != want.inbox {
				b.Errorf("%s: %+v, letter %s, inbox %s", key, e, b.letterState(ids[i]), b.inboxState(key))
			}
		}
		if items := b.ready(); len(items) != 1 || items[0].Delivery.Key != "own-new" || outcomes[ids[0]].Key != "own-new" || b.inboxState("own-new") != inbox.Waiting {
			b.Fatalf("%+v, %+v", items, outcomes[ids[0]])
		}
		b.succeed(b.ready()...)
		if d := b.step(id); d.Action != job.Finish || b.get(id).Succeeded != 1 {
			b.Errorf("%+v, %+v", d, b.get(id))
		}
	})
}

// A discard of many letters is a job without stages.
func TestDiscard(t *testing.T) {
	onBoth(t, func(b *fixture) {
		ids := b.die(many(job.MaxStep + 3)...)
		id := b.run(func(p *redriving.Plan) { p.Kind = job.Discarding })
		for b.step(id).Action != job.Finish {
		}
		r := b.get(id)
		if r.State != job.Done || r.Succeeded != int64(len(ids)) || b.letterState(ids[0]) != dlq.Discarded || b.inboxState("k0000") != inbox.Discarded {
			b.Errorf("%+v", r)
		}
	})
}

// While the consumer is paused nothing is sent, and the job says so.
func TestPausedConsumer(t *testing.T) {
	onBoth(t, func(b *fixture) {
		b.die(many(3)...)
		id := b.run()
		_, err := b.st.Operations().Pauses.Pause(b.ctx, instance.Pause{Consumer: consumer, By: "bo", Reason: "limit"})
		b.must(err)
		if d := b.step(id); d.Action != job.Wait || d.Why != "billing is paused by bo: limit" || len(b.ready()) != 0 {
			b.Errorf("%+v", d)
		}
		b.resume()
		if d := b.step(id); d.Action != job.Send {
			b.Errorf("%+v", d)
		}
	})
}

func (b *fixture) resume() {
	b.Helper()
	_, err := b.st.Operations().Pauses.Resume(b.ctx, consumer, "bo")
	b.must(err)
}

// After a rollback, and after the end of a process, nothing more is sent until a person resumes.
//
//evidence:redrive-job
func TestPausesByItself(t *testing.T) {
	onBoth(t, func(b *fixture) {
		b.die(many(20)...)
		b.start("2", "v1")
		id := b.run()
		b.step(id)
		b.succeed(b.ready()...)
		b.start("3", "v0")
		if d := b.step(id); d.Action != job.Pause || !strings.Contains(d.Why, "billing runs v0 and v1 now") {
			b.Fatalf("%+v", d)
		}
		_, err := b.engine.Resume(b.ctx, redriving.Resume{ID: id})
		b.refused(err)
		b.end("3")
		_, err = b.engine.Resume(b.ctx, redriving.Resume{ID: id})
		b.must(err)
		if d := b.step(id); d.Action != job.Send || d.Stage != 1 {
			b.Fatalf("the stage was not begun again: %+v", d)
		}
	})
}
