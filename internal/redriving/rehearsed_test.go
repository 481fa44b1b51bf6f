package redriving_test

import (
	"strings"
	"testing"

	"github.com/headrace/headrace/audit"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/internal/inspect"
	"github.com/headrace/headrace/internal/redriving"
	"github.com/headrace/headrace/store/txn"
)

// A plan of a group tells how its newest rehearsal went, whether that was before the plan or after it.
//
//evidence:rehearsal
func TestPlanTellsOfTheRehearsal(t *testing.T) {
	onBoth(t, func(b *fixture) {
		b.die(many(3)...)
		group := b.plan(func(p *redriving.Plan) { p.Filter.ErrorFingerprint = "0123456789abcdef" })
		all := b.plan()
		b.die(letter("other", func(l *dlq.Letter) { l.Handler, l.Delivery.Scope = "another", consumer+"/another" }))
		both := b.plan(func(p *redriving.Plan) { p.Filter.ErrorFingerprint = "0123456789abcdef" })
		told := func(id int64) (found inspect.Check) {
			checks, err := inspect.Checks(b.ctx, b.st, b.get(id))
			b.must(err)
			for _, c := range checks {
				if strings.Contains(c.Says, "rehearsed") {
					found = c
				}
			}
			return found
		}
		rehearsed := func(action, detail, says string) {
			b.in(func(t *txn.Txn) {
				b.must(b.st.Operations().Audit.Record(b.ctx, t, audit.Row{Kind: audit.Group, Subject: "0123456789abcdef", Action: action, By: "ann", Reason: says, Detail: detail}))
			})
		}
		rehearsed(job.Rehearsed, consumer+"/another", "9 of 9 rehearsed letters would pass on v1")
		if c := told(group); c.Says != "" {
			b.Errorf("of another handler: %+v", c)
		}
		for _, one := range []struct {
			action, says, also string
			ok                 bool
		}{
			{job.Rehearsed, "3 of 3 rehearsed letters would pass on v1", "", true},
			{job.RehearsedNotPass, "2 of 3 rehearsed letters would pass on v1", "", false},
			{job.Rehearsed, "3 of 3 rehearsed letters would pass on v0", ": no process runs that build now", false},
		} {
			rehearsed(one.action, scope, one.says)
			c := told(group)
			if c.OK != one.ok || !strings.HasPrefix(c.Says, one.says+", ") || !strings.HasSuffix(c.Says, " ago"+one.also) {
				b.Errorf("%q: %+v", one.says, c)
			}
		}
		for _, id := range []int64{all, both} {
			if c := told(id); c.Says != "" {
				b.Errorf("a plan of no group: %+v", c)
			}
		}
	})
}
