package redriving_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/internal/inspect"
	"github.com/headrace/headrace/internal/redriving"
)

// openCall records a step of a dead message.
func (b *fixture) openCall(key, state string) {
	b.Helper()
	insert := "headrace_steps (scope, key, step, system, state, call_id, input_hash, last_call_at, changed_at) SELECT scope, key, 'charge', 'bank', '" +
		state + "', 'c', '', changed_at, changed_at FROM "
	where := fmt.Sprintf("headrace_inbox WHERE key = '%s'", key)
	b.exec("INSERT INTO "+insert+where, "INSERT INTO "+b.schema()+insert+b.schema()+where)
}

// A discard, by a job or at once, leaves letters open whose calls may have been carried out, until a
// person discards them, too (OpenCalls). The plan says how many they are.
//
//evidence:open-step
func TestDiscardWithOpenCalls(t *testing.T) {
	onBoth(t, func(b *fixture) {
		ids := b.die(many(4)...)
		for key, state := range map[string]string{"k0001": "pending", "k0002": "parked", "k0003": "skipped"} {
			b.openCall(key, state)
		}
		discard := func(all bool) job.Redrive {
			b.Helper()
			id := b.plan(func(p *redriving.Plan) { p.Kind = job.Discarding })
			if s := b.get(id).Survey; len(s) != 1 || s[0].OpenCalls != 2 || s[0].Review != 1 {
				b.Errorf("survey %+v", s)
			}
			checks, err := inspect.Checks(b.ctx, b.st, b.get(id))
			b.must(err)
			if !slices.ContainsFunc(checks, func(c inspect.Check) bool {
				return !c.OK && strings.HasPrefix(c.Says, "2 with a step whose call may have been carried out") && strings.Contains(c.Hint, "--open-calls")
			}) {
				b.Errorf("%+v", checks)
			}
			_, err = b.engine.Apply(b.ctx, redriving.Apply{ID: id, OpenCalls: all}, "bo", "not wanted")
			b.must(err)
			for b.step(id).Action != job.Finish {
			}
			return b.get(id)
		}
		r := discard(false)
		if why := b.outcomes(r.ID)[ids[1]].Why; r.Succeeded != 2 || r.Skipped != 2 || !strings.Contains(why, `step "charge" may have been carried out`) {
			b.Errorf("%+v: %s", r, why)
		}
		at := redrive.Request{All: true, By: "bo", Reason: "not wanted"}
		if result, err := redrive.New(b.st).Discard(b.ctx, at); err != nil || result.Done != 0 || result.Skipped != 2 || result.Skips[0].Key != "k0001" {
			b.Errorf("at once: %+v, %v", result, err)
		}
		if b.letterState(ids[1]) != dlq.Open || b.letterState(ids[2]) != dlq.Open {
			b.Error("a letter with an open call is not open")
		}
		_, err := b.engine.Apply(b.ctx, redriving.Apply{ID: b.plan(), OpenCalls: true}, "bo", "fixed")
		b.refused(err)
		if r := discard(true); r.Succeeded != 2 || r.Skipped != 0 || b.letterState(ids[1]) != dlq.Discarded {
			b.Errorf("%+v", r)
		}
	})
}
