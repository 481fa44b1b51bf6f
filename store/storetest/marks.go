package storetest

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headrace/headrace/instance"
)

var markTests = []test{
	{name: "a worker has one mark, which the next replaces", run: markReplaces},
	{name: "marks of other instances that run are read", run: markOthers},
	{name: "an instance that is not known, or has ended, marks nothing", run: markUnknown},
	{name: "a death makes suspects of what was marked, once", run: markDeath},
	{name: "who beats, or has ended, is not counted as dead", run: markAlive},
	{name: "of several that count a death one does", run: markCountedOnce},
	{name: "deaths add up, alone and beside other work", run: markDeaths},
	{name: "one that was counted and marks again runs after all", run: markRevived},
	{name: "a suspect is cleared", run: markClear},
	{name: "suspects are forgotten, and the marks of instances", run: markForgotten},
}

func hashes(keys ...string) (list []instance.Hash) {
	for _, key := range keys {
		list = append(list, instance.HashOf(id(key)))
	}
	return list
}

func (b *bundle) marker() instance.Marks { return b.Store.Operations().Marks }

// mark marks messages of a worker.
func (b *bundle) mark(id string, worker int, alone bool, keys ...string) {
	b.Helper()
	b.must(b.marker().Mark(b.ctx, instance.Mark{Instance: id, Worker: worker, Messages: hashes(keys...), Alone: alone}))
}

// countDeath counts the death of an instance, and compares whether it was counted.
func (b *bundle) countDeath(id string, want bool) {
	b.Helper()
	if got, err := b.marker().CountDeath(b.ctx, id, missed); err != nil || got != want {
		b.Errorf("CountDeath of %s: %t, %v, want %t", id, got, err, want)
	}
}

func (b *bundle) wantMarks(what, except string, want ...instance.Mark) {
	b.Helper()
	got, err := b.marker().Marks(b.ctx, "billing", except)
	b.must(err)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		b.Errorf("%s: marks (-want +got):\n%s", what, diff)
	}
}

func (b *bundle) wantSuspects(what string, want ...instance.Suspect) {
	b.Helper()
	got, err := b.marker().Suspects(b.ctx, "billing", 100)
	b.must(err)
	sorted := cmpopts.SortSlices(func(a, b instance.Suspect) bool { return string(a.Message[:]) < string(b.Message[:]) })
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), sorted); diff != "" {
		b.Errorf("%s: suspects (-want +got):\n%s", what, diff)
	}
}

func suspect(key string, alone, beside int) instance.Suspect {
	return instance.Suspect{Message: instance.HashOf(id(key)), Alone: alone, Beside: beside}
}

func markReplaces(b *bundle) {
	b.startInstance("a", "billing")
	b.mark("a", 0, false, "m1", "m2")
	b.mark("a", 1, true, "m3")
	b.wantMarks("two workers", "",
		instance.Mark{Instance: "a", Worker: 0, Messages: hashes("m1", "m2")}, instance.Mark{Instance: "a", Worker: 1, Messages: hashes("m3"), Alone: true})
	b.mark("a", 0, true, "m4")
	b.mark("a", 1, false)
	b.mark("a", 2, false)
	b.wantMarks("the next", "", instance.Mark{Instance: "a", Worker: 0, Messages: hashes("m4"), Alone: true})
	b.must(b.Store.Operations().Instances.End(b.ctx, "a"))
	if n := b.count(b.DB, "SELECT count(*) FROM {{schema}}.headrace_marks"); n != 0 {
		b.Errorf("%d marks of an instance that ended", n)
	}
}

func markOthers(b *bundle) {
	for id, consumer := range map[string]string{"me": "billing", "other": "billing", "dead": "billing", "theirs": "shipping"} {
		b.startInstance(id, consumer)
		b.mark(id, 7, false, id)
	}
	other := instance.Mark{Instance: "other", Worker: 7, Messages: hashes("other")}
	b.shift(2 * missed)
	for _, id := range []string{"me", "other", "theirs"} {
		b.must(b.Store.Operations().Instances.Beat(b.ctx, id, instance.Work{}))
	}
	b.wantMarks("while it may live", "me", instance.Mark{Instance: "dead", Worker: 7, Messages: hashes("dead")}, other)
	b.countDeath("dead", true)
	b.wantMarks("when it was counted as dead", "me", other)
}

func markUnknown(b *bundle) {
	b.startInstance("ended", "billing")
	b.must(b.Store.Operations().Instances.End(b.ctx, "ended"))
	for _, id := range []string{"unknown", "ended"} {
		err := b.marker().Mark(b.ctx, instance.Mark{Instance: id, Messages: hashes("m")})
		if !errors.Is(err, instance.ErrUnknown) {
			b.Errorf("%s: %v", id, err)
		}
		b.countDeath(id, false)
	}
}

//evidence:killer
func markDeath(b *bundle) {
	b.startInstance("a", "billing")
	b.mark("a", 0, false, "m1", "m2")
	b.mark("a", 1, false, "m2", "m3")
	b.shift(2 * missed)
	b.countDeath("a", true)
	b.wantSuspects("of the death", suspect("m1", 0, 1), suspect("m2", 0, 1), suspect("m3", 0, 1))
	b.countDeath("a", false)
	b.wantSuspects("counted again", suspect("m1", 0, 1), suspect("m2", 0, 1), suspect("m3", 0, 1))
	if n := b.count(b.DB, "SELECT count(*) FROM {{schema}}.headrace_marks"); n != 0 {
		b.Errorf("%d marks are left", n)
	}
	if list, err := b.marker().Suspects(b.ctx, "shipping", 10); err != nil || len(list) != 0 {
		b.Errorf("of another consumer: %+v, %v", list, err)
	}
	if list, err := b.marker().Suspects(b.ctx, "billing", 2); err != nil || len(list) != 2 {
		b.Errorf("at most two: %+v, %v", list, err)
	}
	b.startInstance("idle", "billing")
	b.shift(4 * missed)
	b.countDeath("idle", true) // with nothing marked
}

//evidence:innocent
func markAlive(b *bundle) {
	for _, id := range []string{"beats", "ended"} {
		b.startInstance(id, "billing")
		b.mark(id, 0, true, id)
	}
	b.countDeath("beats", false)
	b.shift(2 * missed)
	b.must(b.Store.Operations().Instances.Beat(b.ctx, "beats", instance.Work{}))
	b.must(b.Store.Operations().Instances.End(b.ctx, "ended"))
	b.countDeath("beats", false)
	b.shift(4 * missed)
	b.countDeath("ended", false)
	b.wantSuspects("of none")
}

func markCountedOnce(b *bundle) {
	b.startInstance("a", "billing")
	b.mark("a", 0, true, "m")
	b.shift(2 * missed)
	var counted atomic.Int32
	var wait sync.WaitGroup
	for range 6 {
		wait.Go(func() {
			ok, err := b.marker().CountDeath(b.ctx, "a", missed)
			if err != nil {
				b.Errorf("CountDeath: %v", err)
			}
			if ok {
				counted.Add(1)
			}
		})
	}
	wait.Wait()
	if n := counted.Load(); n != 1 {
		b.Errorf("counted %d times", n)
	}
	b.wantSuspects("of one death", suspect("m", 1, 0))
}

//evidence:killer
func markDeaths(b *bundle) {
	for n, alone := range []bool{false, true, true, false, true} {
		id := string(rune('a' + n))
		b.startInstance(id, "billing")
		b.mark(id, 0, alone, "m")
		b.shift(time.Duration(n+1) * 2 * missed)
		b.countDeath(id, true)
	}
	b.startInstance("last", "billing")
	b.mark("last", 0, false, "other")
	b.shift(20 * missed)
	b.countDeath("last", true)
	got, err := b.marker().Suspects(b.ctx, "billing", 1)
	b.must(err)
	if diff := cmp.Diff([]instance.Suspect{suspect("m", 3, 2)}, got); diff != "" {
		b.Errorf("the first suspect (-want +got):\n%s", diff)
	}
}

func markRevived(b *bundle) {
	b.startInstance("a", "billing")
	b.shift(2 * missed)
	b.countDeath("a", true)
	b.mark("a", 0, true, "m") // it was stopped for long, and goes on
	b.wantMarks("after it went on", "", instance.Mark{Instance: "a", Messages: hashes("m"), Alone: true})
	b.countDeath("a", false)
	b.shift(4 * missed)
	b.countDeath("a", true)
	b.wantSuspects("of the second death", suspect("m", 1, 0))
}

//evidence:innocent
func markClear(b *bundle) {
	b.startInstance("a", "billing")
	b.mark("a", 0, false, "m1", "m2")
	b.shift(2 * missed)
	b.countDeath("a", true)
	b.must(b.marker().Clear(b.ctx, "shipping", hashes("m1")[0]))
	b.must(b.marker().Clear(b.ctx, "billing", hashes("m1")[0]))
	b.must(b.marker().Clear(b.ctx, "billing", hashes("unknown")[0]))
	b.wantSuspects("one cleared", suspect("m2", 0, 1))
}

func markForgotten(b *bundle) {
	b.startInstance("a", "billing")
	b.startInstance("b", "billing")
	b.mark("a", 0, false, "m1")
	b.mark("b", 0, false, "m2")
	b.shift(2 * missed)
	b.countDeath("a", true)
	b.shift(2*missed + 61*time.Minute)
	b.startInstance("c", "billing")
	b.mark("c", 0, false, "m3")
	b.must(b.Store.Operations().Instances.Forget(b.ctx, time.Hour))
	b.wantSuspects("after an hour")
	b.wantMarks("after an hour", "", instance.Mark{Instance: "c", Messages: hashes("m3")})
}
