package redriving_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/internal/redriving"
)

// Who has seen the same as another person gets that person's plan; who has seen it, or asks for other letters, gets
// one of their own.
//
//evidence:redrive-job
func TestPlanOfTheSame(t *testing.T) {
	onBoth(t, func(b *fixture) {
		b.die(many(3)...)
		seen := func(newest int64) func(*redriving.Plan) {
			return func(p *redriving.Plan) { p.Since = &newest }
		}
		first := b.plan(seen(0))
		if second := b.plan(seen(0)); second != first {
			b.Errorf("two people who saw the same have the plans %d and %d", first, second)
		}
		own := []int64{
			first, b.plan(seen(first)), b.plan(),
			b.plan(seen(0), func(p *redriving.Plan) { p.Says = "others" }), b.plan(seen(0), func(p *redriving.Plan) { p.Kind = job.Discarding }),
		}
		if slices.Sort(own); len(slices.Compact(own)) != 5 {
			b.Errorf("plans of their own: %v", own)
		}
		_, err := b.engine.Cancel(b.ctx, first, "ann", "")
		b.must(err)
		if again := b.plan(seen(own[0] - 1)); again == first {
			b.Error("a cancelled plan is the answer")
		}
	})
}

// Two processes that plan at the same moment: each person has a plan that is valid.
func TestPlansAtOnce(t *testing.T) {
	onBoth(t, func(b *fixture) {
		b.die(many(3)...)
		since := int64(0)
		ids := make([]int64, 2)
		var all sync.WaitGroup
		for i := range ids {
			all.Go(func() {
				r, err := b.engine.Plan(b.ctx, redriving.Plan{Kind: job.Redriving, Says: "all", Options: job.DefaultOptions(), Since: &since}, "ann")
				if err != nil {
					b.Error(err)
				}
				ids[i] = r.ID
			})
		}
		all.Wait()
		for _, id := range ids {
			if r := b.get(id); r.State != job.Planned {
				b.Errorf("%d is %s: %s", id, r.State, r.Why)
			}
		}
		list, err := b.st.Operations().Redrives.List(b.ctx, "billing", 10)
		b.must(err)
		for _, r := range list {
			if slices.Contains(ids, r.ID) == (r.State == job.Cancelled) {
				b.Errorf("%d of the plans %v is %s", r.ID, ids, r.State)
			}
		}
	})
}
