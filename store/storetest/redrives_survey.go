package storetest

import (
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/store/txn"
)

func redriveSurvey(b *bundle) {
	again, crashed, standIn := letter("a"), letter("b"), letter("stand-in:c")
	again.Redrives, crashed.Class = 1, dlq.Crashed
	b.die(again, crashed, standIn)
	b.in(func(t *txn.Txn) { b.win(t, "d") })
	conflict := letter("d")
	conflict.Class, conflict.Delivery.Fingerprint = dlq.Conflict, "another"
	b.die(conflict)
	id := b.plan(dlq.Filter{})
	r, err := b.Store.Operations().Redrives.Get(b.ctx, id)
	b.must(err)
	want := []job.Survey{{Handler: handler, Build: again.Build, Letters: 4, Again: 1, Crashed: 1, StandIn: 1, Conflicts: 1}}
	if diff := cmp.Diff(want, r.Survey); diff != "" {
		b.Errorf("(-want +got):\n%s", diff)
	}
	newer := func(builds ...string) int64 {
		b.Helper()
		n, err := b.Store.Operations().Redrives.NewLetters(b.ctx, job.Redrive{ID: id}, builds)
		b.must(err)
		return n
	}
	if n := newer("v1.2.3"); n != 0 {
		b.Errorf("%d new letters before there are any", n)
	}
	b.shift(time.Second)
	other := letter("f")
	other.ErrorFingerprint = "print-2"
	b.die(letter("e"), other)
	if n := newer("v1.2.3"); n != 1 {
		b.Errorf("%d new letters of the group, want 1", n)
	}
	if n := newer("v1.2.4"); n != 0 {
		b.Errorf("%d new letters of a build that wrote none", n)
	}
}

func redriveShared(b *bundle) {
	b.die(letter("a"), letter("b"), letter("c"))
	first, second := b.plan(dlq.Filter{}), b.plan(dlq.Filter{})
	want := func(held, heldBy, gone int64) {
		b.Helper()
		survey, err := b.Store.Operations().Redrives.Survey(b.ctx, second, 1000)
		if err != nil || len(survey) != 1 || survey[0].Held != held || survey[0].HeldBy != heldBy || survey[0].Closed != gone || survey[0].Letters != 3 {
			b.Errorf("%+v, %v, want %d, %d and %d", survey, err, held, heldBy, gone)
		}
	}
	want(0, 0, 0) // two plans
	b.changeRedrive(first, func(r *job.Redrive) { r.State = job.Paused })
	want(3, first, 0)
	one, err := b.Store.Operations().Redrives.Survey(b.ctx, second, 1)
	if b.must(err); len(one) != 1 || one[0].Letters != 1 {
		b.Errorf("of one letter: %+v", one)
	}
	b.discard("b")
	want(2, first, 1)
	b.changeRedrive(first, func(r *job.Redrive) { r.State = job.Cancelled })
	want(0, 0, 1)
}
