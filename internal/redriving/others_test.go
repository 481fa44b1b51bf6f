package redriving_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/internal/redriving"
)

// byOthers redrives or discards letters as another person does.
func (b *fixture) byOthers(do func(*redrive.Admin, context.Context, redrive.Request) (redrive.Result, error), ids ...int64) {
	b.Helper()
	result, err := do(redrive.New(b.st), b.ctx, redrive.Request{Filter: dlq.Filter{IDs: ids}, By: "cy", Reason: "by hand"})
	if b.must(err); result.Done != len(ids) {
		b.Fatalf("%+v", result)
	}
}

// A paused redrive ends when others have decided on all letters that it would still send, and says of
// each what became of it. As long as one is open it waits for a person.
//
//evidence:redrive-job
func TestOthersFinish(t *testing.T) {
	onBoth(t, func(b *fixture) {
		ids := b.die(append(many(3), letter("s1", strict("k")), letter("s2", strict("k")))...)
		id := b.run()
		b.step(id)
		b.fail(b.ready()...)
		if d := b.step(id); d.Action != job.Pause {
			b.Fatalf("%+v", d)
		}
		why := b.get(id).Why
		b.byOthers((*redrive.Admin).Discard, ids[2:]...)
		if d := b.step(id); d.Action != "" || b.get(id).State != job.Paused || b.get(id).Why != why {
			b.Errorf("one letter is open: %+v, %+v", d, b.get(id))
		}
		b.byOthers((*redrive.Admin).Redrive, ids[1])
		ctx, stop := context.WithCancel(b.ctx)
		ended := make(chan struct{})
		go func() { defer close(ended); b.engine.Run(ctx) }()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for r := b.get(id); r.State == job.Paused; r = b.get(id) {
			select {
			case <-tick.C:
			case <-b.ctx.Done():
				b.Fatalf("%+v", r)
			}
		}
		stop()
		<-ended
		r, outcomes := b.get(id), b.outcomes(id)
		if r.State != job.Done || r.Skipped != 4 || r.FailedAgain != 1 || r.Succeeded != 0 || r.Ended.IsZero() || !strings.Contains(r.Why, why) {
			b.Errorf("%+v", r)
		}
		for i, want := range []string{1: "it is redriven already", 2: "it is discarded already", 3: "it is discarded already", 4: "it is discarded already"} {
			if e := outcomes[ids[i]]; want != "" && (e.State != job.Skipped || e.Why != want) {
				b.Errorf("letter %d: %+v", ids[i], e)
			}
		}
		if said := b.refused(second(b.engine.Resume(b.ctx, redriving.Resume{ID: id}))); !strings.Contains(said, "is done") {
			b.Error(said)
		}
	})
}

func second[T any](_ T, err error) error { return err }

// What is under way while a redrive is paused is counted as it ends.
//
//evidence:redrive-job
func TestPausedAtItsEnd(t *testing.T) {
	onBoth(t, func(b *fixture) {
		b.die(many(3)...)
		id := b.run(func(p *redriving.Plan) { p.Stages = nil })
		b.step(id)
		_, err := b.engine.Pause(b.ctx, id, "bo", "lunch")
		b.must(err)
		items := b.ready()
		b.succeed(items[:2]...)
		if d := b.step(id); d.Action != "" || b.get(id).State != job.Paused || b.get(id).Succeeded != 2 {
			b.Errorf("%+v, %+v", d, b.get(id))
		}
		b.succeed(items[2:]...)
		if d, r := b.step(id), b.get(id); d.Action != job.Finish || r.State != job.Done || r.Succeeded != 3 || r.Skipped != 0 || !strings.Contains(r.Why, "by bo: lunch") {
			b.Errorf("%+v, %+v", d, r)
		}
	})
}
