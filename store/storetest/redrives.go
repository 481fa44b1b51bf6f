package storetest

import (
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

var redriveTests = []test{
	{name: "a plan lists the open letters of a filter, and never another one", run: redrivePlan},
	{name: "a redrive is kept as it is changed", run: redriveKept},
	{name: "a job belongs to one transaction", run: redriveLocked, needs: concurrentWriters},
	{name: "of a strict order key one letter comes at a time", run: redriveOrder},
	{name: "an outcome is what the tables say", run: redriveOutcomes},
	{name: "a plan knows of letters that came after it, and what its letters are", run: redriveSurvey},
	{name: "a plan knows of letters that others have, or have decided on", run: redriveShared},
	{name: "redrives are forgotten with their letters", run: redriveForgotten},
	{name: "options that no job can have are refused", run: redriveOptions},
}

// plan lists the open letters of f.
func (b *bundle) plan(f dlq.Filter) int64 {
	b.Helper()
	jobs := b.Store.Operations().Redrives
	id, err := jobs.Create(b.ctx, job.Redrive{
		Kind: job.Redriving, Consumer: consumer, Filter: "all\x00", Handler: "h", ErrorFingerprint: "f00d", Builds: []string{"v1", "v2"}, Options: job.DefaultOptions(), PlannedBy: "ann",
	})
	b.must(err)
	f.Consumer = consumer
	survey, err := jobs.Add(b.ctx, id, f, dlq.Span{})
	b.must(err)
	slices.SortFunc(survey, func(x, y job.Survey) int { return strings.Compare(x.Handler+"/"+x.Build, y.Handler+"/"+y.Build) })
	now, err := jobs.Survey(b.ctx, id, 1000)
	if err != nil || !slices.Equal(survey, now) {
		b.Errorf("what is known when they are listed is %+v, and then %+v, %v", survey, now, err)
	}
	count := int64(0)
	for _, s := range survey {
		count += s.Letters
	}
	b.must(jobs.Planned(b.ctx, id, count, time.Hour, survey))
	return id
}

// change changes a redrive.
func (b *bundle) changeRedrive(id int64, f func(r *job.Redrive)) {
	b.Helper()
	jobs := b.Store.Operations().Redrives
	b.in(func(t *txn.Txn) {
		r, found, err := jobs.Lock(b.ctx, t, id, true, txn.Limits{Idle: time.Minute, Statement: time.Minute})
		if err != nil || !found {
			b.Fatalf("Lock(%d): %t, %v", id, found, err)
		}
		f(&r)
		b.must(jobs.Change(b.ctx, t, r))
	})
}

// settle changes the entries of a redrive, and its numbers.
func (b *bundle) settle(id int64, entries ...job.Entry) {
	b.Helper()
	b.in(func(t *txn.Txn) { b.must(b.Store.Operations().Redrives.Settle(b.ctx, t, id, entries)) })
	b.changeRedrive(id, func(r *job.Redrive) {
		for _, e := range entries {
			if e.State == job.Sent {
				r.Sent++
			}
		}
		r.Tally(entries)
	})
}

func (b *bundle) entries(id int64) map[int64]job.Entry {
	b.Helper()
	list, err := b.Store.Operations().Redrives.Entries(b.ctx, id, "", 0, 100)
	b.must(err)
	all := make(map[int64]job.Entry)
	for _, e := range list {
		all[e.LetterID] = e
	}
	return all
}

func (b *bundle) nextLetters(id int64) (ids []int64) {
	b.Helper()
	b.in(func(t *txn.Txn) {
		list, err := b.Store.Operations().Redrives.Next(b.ctx, t, id, 10)
		b.must(err)
		for _, c := range list {
			if c.Letter != dlq.Open || c.Handler != handler || c.State != job.Queued || c.Bytes == 0 {
				b.Errorf("%+v", c)
			}
			ids = append(ids, c.LetterID)
		}
	})
	return ids
}

//evidence:redrive-job
func redrivePlan(b *bundle) {
	ids := b.die(letter("a"), letter("b"), letter("c"), letter("d"), letter("e"))
	b.redrive(ids[1], "b")
	other := letter("f")
	other.ErrorFingerprint = "print-2"
	more := b.die(other)
	all, group := b.plan(dlq.Filter{}), b.plan(dlq.Filter{ErrorFingerprint: "print-1"})
	b.die(letter("late"))
	for id, want := range map[int64][]int64{all: {ids[0], ids[2], ids[3], ids[4], more[0]}, group: {ids[0], ids[2], ids[3], ids[4]}} {
		if diff := cmp.Diff(want, b.nextLetters(id)); diff != "" {
			b.Errorf("the list of %d (-want +got):\n%s", id, diff)
		}
		r, err := b.Store.Operations().Redrives.Get(b.ctx, id)
		if b.must(err); r.State != job.Planned || r.Count != int64(len(want)) || r.Expires.Sub(r.Now).Round(time.Minute) != time.Hour || strings.ContainsRune(r.Filter, 0) || r.Handler != "h" || r.ErrorFingerprint != "f00d" {
			b.Errorf("%+v", r)
		}
	}
	if _, err := b.Store.Operations().Redrives.Get(b.ctx, 99); !errors.Is(err, job.ErrNotFound) {
		b.Errorf("a redrive that is not there: %v", err)
	}
	if err := b.Store.Operations().Redrives.Planned(b.ctx, all, 1, time.Hour, nil); !errors.Is(err, job.ErrNotFound) {
		b.Errorf("a plan is completed twice: %v", err)
	}
	list, err := b.Store.Operations().Redrives.List(b.ctx, consumer, 10)
	if b.must(err); len(list) != 2 || list[0].ID != group || list[1].ID != all {
		b.Errorf("%+v", list)
	}
}

func redriveKept(b *bundle) {
	b.die(letter("a"))
	id := b.plan(dlq.Filter{})
	var want job.Redrive
	b.changeRedrive(id, func(r *job.Redrive) {
		now := r.Now
		r.State, r.Why, r.Builds = job.Running, "waits", []string{"v3"}
		r.Begin(2, now)
		r.StageSent, r.StageGood, r.Recent = 3, 2, "sfk"
		r.TokensAt, r.AppliedBy, r.Reason, r.Applied, r.Resumed, r.Stepped, r.Ended = now, "bo", "fixed", now, now, now, now
		want = *r
	})
	got, err := b.Store.Operations().Redrives.Get(b.ctx, id)
	b.must(err)
	got.Now = want.Now
	if diff := cmp.Diff(want, got); diff != "" {
		b.Errorf("(-want +got):\n%s", diff)
	}
	due := func(paused bool) {
		b.Helper()
		list, others, err := b.Store.Operations().Redrives.Due(b.ctx, consumer)
		if paused {
			list, others = others, list
		}
		if b.must(err); len(list) != 1 || list[0] != id || len(others) > 0 {
			b.Errorf("%d, %d", list, others)
		}
	}
	due(false)
	b.changeRedrive(id, func(r *job.Redrive) { r.State = job.Paused })
	due(true)
}

//evidence:redrive-job
func redriveLocked(b *bundle) {
	b.die(letter("a"))
	id, jobs := b.plan(dlq.Filter{}), b.Store.Operations().Redrives
	first, second := b.begin(), b.begin()
	if _, found, err := jobs.Lock(b.ctx, first, id, false, txn.Limits{}); err != nil || !found {
		b.Fatalf("%t, %v", found, err)
	}
	if _, found, err := jobs.Lock(b.ctx, second, id, false, txn.Limits{}); err != nil || found {
		b.Fatalf("two have the lock: %t, %v", found, err)
	}
	first.Rollback()
	if _, found, err := jobs.Lock(b.ctx, second, id, false, txn.Limits{}); err != nil || !found {
		b.Fatalf("%t, %v", found, err)
	}
}

//evidence:redrive-job
func redriveOrder(b *bundle) {
	strict := func(key, order string) dlq.Letter {
		l := letter(key)
		l.Strict, l.Delivery.OrderKey = true, order
		return l
	}
	loose := letter("loose")
	loose.Delivery.OrderKey = "k"
	ids := b.die(strict("a", "k"), strict("b", "k"), strict("c", "l"), strict("d", "k"), loose, strict("e", "k"))
	id, jobs := b.plan(dlq.Filter{}), b.Store.Operations().Redrives
	want := func(what string, want ...int64) {
		b.Helper()
		if diff := cmp.Diff(want, b.nextLetters(id)); diff != "" {
			b.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	want("at first", ids[0], ids[2], ids[4])
	e := b.entries(id)[ids[0]]
	e.State = job.Sent
	b.redrive(ids[0], "a")
	b.settle(id, e)
	want("while the first is under way", ids[2], ids[4])
	b.in(func(t *txn.Txn) {
		first, behind, err := jobs.Waits(b.ctx, t, id)
		if b.must(err); first.LetterID != ids[1] || first.OrderKey != "k" || behind != 3 {
			b.Errorf("%+v, %d", first, behind)
		}
	})
	e.State = job.Succeeded
	b.settle(id, e)
	want("when it has ended", ids[1], ids[2], ids[4])
	behind := b.entries(id)[ids[1]]
	behind.Why = "order"
	b.in(func(t *txn.Txn) {
		n, err := jobs.SkipBehind(b.ctx, t, id, []job.Entry{behind})
		if b.must(err); n != 3 {
			b.Errorf("%d letters were skipped", n)
		}
	})
	b.changeRedrive(id, func(r *job.Redrive) { r.Skipped += 3 })
	if got := b.entries(id)[ids[5]]; got.State != job.Skipped || got.Why != "order" {
		b.Errorf("%+v", got)
	}
	want("when the order key is given up", ids[2], ids[4])
}

// outcomeOf returns what the tables say about a letter.
func (b *bundle) outcomeOf(id, letterID int64) job.Look {
	b.Helper()
	looks, err := b.Store.Operations().Redrives.LooksOf(b.ctx, id, 0, math.MaxInt64, 100)
	b.must(err)
	for _, l := range looks {
		if l.LetterID == letterID {
			return l
		}
	}
	b.Fatalf("nothing is known of letter %d", letterID)
	panic("unreachable")
}

//evidence:redrive-job
func redriveOutcomes(b *bundle) {
	ids := b.die(letter("a"), letter("b"), letter("c"))
	id := b.plan(dlq.Filter{})
	for i, key := range []string{"a", "b", "c"} {
		b.redrive(ids[i], key)
		e := b.entries(id)[ids[i]]
		e.State = job.Sent
		b.settle(id, e)
	}
	for i, q := range []string{
		"UPDATE {{schema}}.headrace_backlog SET attempt = 2 WHERE key = 'a'",
		"UPDATE {{schema}}.headrace_backlog SET status = 'delayed', due_at = ready_at, postponed_at = ready_at WHERE key = 'b'",
	} {
		if n := b.exec(b.DB, q); n != 1 {
			b.Fatalf("%d: %d rows", i, n)
		}
	}
	want := func(what string, want ...job.Outcome) {
		b.Helper()
		for i, o := range want {
			if l := b.outcomeOf(id, ids[i]); l.Outcome() != o || l.Class != dlq.Permanent {
				b.Errorf("%s, letter %d: %s (%+v), want %s", what, i, l.Outcome(), l, o)
			}
		}
	}
	want("under way", job.Retrying, job.Postponed, job.InBacklog)
	if l := b.outcomeOf(id, ids[1]); l.Due.IsZero() || l.PostponedAt.IsZero() {
		b.Errorf("%+v", l)
	}
	var next int64
	b.in(func(t *txn.Txn) {
		_, err := b.Store.Inbox().Transition(b.ctx, t, []inbox.ID{letter("a").ID()}, inbox.Waiting, inbox.Done)
		b.must(err)
		_, err = b.Store.Inbox().Transition(b.ctx, t, []inbox.ID{letter("b").ID()}, inbox.Waiting, inbox.Dead)
		b.must(err)
		b.exec(t, "DELETE FROM {{schema}}.headrace_backlog WHERE key IN ('a', 'b')")
		l := letter("b")
		l.PreviousID = ids[1]
		next = b.insertAll(t, l)[0]
	})
	want("at the end", job.Succeeded, job.FailedAgain, job.InBacklog)
	b.redrive(next, "b") // by another person, and it succeeds
	b.in(func(t *txn.Txn) {
		_, err := b.Store.Inbox().Transition(b.ctx, t, []inbox.ID{letter("b").ID()}, inbox.Waiting, inbox.Done)
		b.must(err)
		b.exec(t, "DELETE FROM {{schema}}.headrace_backlog WHERE key = 'b'")
	})
	want("after the redrive of another person", job.Succeeded, job.FailedAgain)
	b.exec(b.DB, "DELETE FROM {{schema}}.headrace_inbox WHERE key = 'a'")
	want("after retention", job.Unknown)
	looks, err := b.Store.Operations().Redrives.LooksOf(b.ctx, id, ids[0], ids[1], 100)
	if b.must(err); len(looks) != 1 || looks[0].LetterID != ids[1] {
		b.Errorf("one letter of a page: %+v", looks)
	}
}

func redriveForgotten(b *bundle) {
	b.die(letter("a"), letter("b"), letter("c"))
	planned, running := b.plan(dlq.Filter{}), b.plan(dlq.Filter{})
	b.changeRedrive(running, func(r *job.Redrive) { r.State = job.Running })
	jobs := b.Store.Operations().Redrives
	b.changeRedrive(b.plan(dlq.Filter{}), func(r *job.Redrive) { r.State = job.Paused })
	states, err := jobs.Unfinished(b.ctx, consumer)
	if want := (map[job.State]job.Unfinished{job.Running: {Jobs: 1, Queued: 3}, job.Paused: {Jobs: 1, Queued: 3}}); err != nil || !cmp.Equal(states, want) {
		b.Errorf("unfinished are %+v, %v", states, err)
	}
	forget := func() bool {
		b.Helper()
		more, err := jobs.Forget(b.ctx, consumer, time.Hour, 2)
		b.must(err)
		return more
	}
	if forget() || len(b.entries(planned)) != 3 {
		b.Error("a young plan is forgotten")
	}
	b.shift(2 * time.Hour)
	if !forget() || len(b.entries(planned)) != 1 || forget() {
		b.Errorf("%+v", b.entries(planned))
	}
	if _, err := jobs.Get(b.ctx, planned); !errors.Is(err, job.ErrNotFound) {
		b.Errorf("the plan: %v", err)
	}
	if r, err := jobs.Get(b.ctx, running); err != nil || len(b.entries(running)) != 3 {
		b.Errorf("a running job is forgotten: %+v, %v", r, err)
	}
}

func redriveOptions(b *bundle) {
	for _, change := range []func(r *job.Redrive){
		func(r *job.Redrive) { r.Consumer = "" },
		func(r *job.Redrive) { r.MaxRunning = 0 },
		func(r *job.Redrive) { r.Stages = []int{0} },
		func(r *job.Redrive) { r.Rate = -1 },
		func(r *job.Redrive) { r.PauseAt = 101 },
		func(r *job.Redrive) { r.StageTimeout = 0 },
	} {
		r := job.Redrive{Kind: job.Redriving, Consumer: consumer, Options: job.DefaultOptions()}
		change(&r)
		if _, err := b.Store.Operations().Redrives.Create(b.ctx, r); err == nil {
			b.Errorf("%+v was taken", r)
		}
	}
	ids := b.die(letter("a"), letter("b"))
	b.redrive(ids[1], "b")
	for name, want := range map[string]int64{consumer: 1, "other": 0} {
		f := dlq.Filter{Consumer: name, IDs: append(ids, 1<<40), AnyState: true}
		list, err := b.Store.Operations().Redrives.Add(b.ctx, 1, f, dlq.Span{})
		n := int64(0)
		for _, s := range list {
			n += s.Letters
		}
		if n != want || err != nil {
			b.Errorf("of %s: %d, %v", name, n, err)
		}
	}
}
