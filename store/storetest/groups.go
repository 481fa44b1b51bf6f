package storetest

import (
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/counting"
	"github.com/headrace/headrace/store/txn"
)

var groupsTests = []test{
	{name: "a view is exact before its changes are added up and after", run: groupsExact},
	{name: "open groups and their oldest letter are counted by state", run: groupsByState},
	{name: "restored letters are none that came", run: groupsRestored},
	{name: "those that may have begun to fail are found", run: groupsBegun},
	{name: "hours and builds are counted", run: groupsHours},
	{name: "a statement writes one row for each group and build", run: groupsOneRow, needs: concurrentWriters},
	{name: "states change with letters, people and time", run: groupsStates},
	{name: "a redrive under way keeps a group unresolved", run: groupsUnfinished},
	{name: "what people say of a group is kept", run: groupsPeople},
	{name: "a change that is committed late is counted", run: groupsLate, needs: concurrentWriters},
	{name: "one process counts at a time", run: groupsOneCounter, needs: concurrentWriters},
	{name: "a count from the letters mends the counters", run: groupsRecount},
	{name: "old hours, groups and builds go", run: groupsPrune},
	{name: "open letters that expire resolve their group", run: groupsExpire},
	{name: "views are exact while clients work and those who count are killed", run: groupsModel},
}

func (b *bundle) counter() *counting.Counter { return counting.New(b.Store) }

// addUp adds up what is there, and has time decide.
func (b *bundle) addUp() {
	b.Helper()
	b.must(b.counter().AddUp(b.ctx))
	b.must(b.counter().Review(b.ctx))
	if _, waits, err := b.Store.Operations().Groups.Behind(b.ctx); err != nil || waits {
		b.Errorf("changes are left: %v", err)
	}
}

func (b *bundle) groups(f groups.Filter) []groups.Group {
	b.Helper()
	list, err := b.Store.Operations().Groups.List(b.ctx, f)
	b.must(err)
	return list
}

// group returns the one group of a fingerprint.
func (b *bundle) group(print string) groups.Group {
	b.Helper()
	list := b.groups(groups.Filter{ErrorFingerprint: print, Closed: true})
	if len(list) != 1 {
		b.Fatalf("%d groups of %s", len(list), print)
	}
	return list[0]
}

func (b *bundle) wantGroup(print string, want groups.State) {
	b.Helper()
	b.addUp()
	if g := b.group(print); g.State != want {
		b.Errorf("%s is %s, want %s: %+v", print, g.State, want, g)
	}
}

// of returns letters of a group.
func of(print, build string, keys ...string) (letters []dlq.Letter) {
	for _, key := range keys {
		l := letter(key)
		l.ErrorFingerprint, l.Build, l.Error = print, build, "error of "+key
		letters = append(letters, l)
	}
	return letters
}

// discard closes the letter of a key.
func (b *bundle) discard(keys ...string) {
	b.Helper()
	for _, key := range keys {
		b.in(func(t *txn.Txn) {
			b.take(t, dlq.Filter{Key: key}, dlq.Discarded, 0, 1)
			b.move(t, inbox.Dead, inbox.Discarded, key)
		})
	}
}

// run starts a process with a build.
func (b *bundle) run(id, build string) {
	b.Helper()
	b.must(b.Store.Operations().Instances.Start(b.ctx, instance.Instance{ID: id, Consumer: consumer, Build: build}))
}

// groupsByState counts what is open of one consumer: the oldest letter is not that of the group.
func groupsByState(b *bundle) {
	want := func(want map[groups.State]groups.Open) {
		b.Helper()
		b.addUp()
		got, err := b.Store.Operations().Groups.States(b.ctx, consumer)
		b.must(err)
		for state, open := range got {
			open.Oldest = open.Oldest.Truncate(time.Hour)
			got[state] = open
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			b.Errorf("states (-want +got):\n%s", diff)
		}
	}
	want(nil)
	b.die(of("one", "v1", "a")...)
	b.addUp()
	b.shift(2 * time.Hour)
	b.die(of("one", "v1", "b")...)
	b.die(of("two", "v1", "c")...)
	want(map[groups.State]groups.Open{groups.New: {Groups: 2, Oldest: 2 * time.Hour}})
	b.discard("a")
	want(map[groups.State]groups.Open{groups.New: {Groups: 2}})
	b.discard("c")
	b.shift(25 * time.Hour)
	want(map[groups.State]groups.Open{groups.Ongoing: {Groups: 1, Oldest: 23 * time.Hour}})
	if other, err := b.Store.Operations().Groups.States(b.ctx, "other"); err != nil || len(other) > 0 {
		b.Errorf("another consumer has %v, %v", other, err)
	}
}

// groupsRestored takes discards back: a letter that is restored is none that came.
//
//evidence:restore
func groupsRestored(b *bundle) {
	b.run("one", "v1")
	ids := b.die(of("one", "v1", "a", "b")...)
	b.addUp()
	before := b.group("one")
	b.discard("a", "b")
	b.wantGroup("one", groups.Resolved)
	b.in(func(t *txn.Txn) {
		restored, err := b.Store.Operations().Corrections.Restore(b.ctx, t, consumer, ids)
		if err != nil || len(restored) != len(ids) {
			b.Errorf("restored %d, %v", len(restored), err)
		}
		b.move(t, inbox.Discarded, inbox.Dead, "a", "b")
	})
	b.wantGroup("one", groups.Ongoing)
	if g := b.group("one"); g.Open != 2 || g.Total != 2 || g.LastLetter != before.LastLetter || !g.Last.Equal(before.Last) {
		b.Errorf("after a restore: %+v, before the discard: %+v", g, before)
	}
}

// groupsBegun finds groups by their state, and those that have changes, with the numbers of a list of all.
func groupsBegun(b *bundle) {
	want := func(limit int, prints ...string) {
		b.Helper()
		got, err := b.Store.Operations().Groups.Begun(b.ctx, consumer, limit)
		b.must(err)
		var want []groups.Group
		for _, g := range b.groups(groups.Filter{Consumer: consumer, Closed: true}) {
			if slices.Contains(prints, g.ErrorFingerprint) {
				want = append(want, g)
			}
		}
		byName := cmpopts.SortSlices(func(x, y groups.Group) bool { return x.ErrorFingerprint < y.ErrorFingerprint })
		if diff := cmp.Diff(want, got, byName, cmpopts.EquateEmpty()); diff != "" || len(got) != len(prints) {
			b.Errorf("want %v (-want +got):\n%s", prints, diff)
		}
	}
	b.die(append(of("old", "v1", "a", "b"), of("gone", "v1", "c")...)...)
	want(9, "old", "gone")
	b.addUp()
	b.shift(25 * time.Hour)
	b.discard("c")
	b.addUp()
	want(9) // one is ongoing, and one resolved
	b.die(of("new", "v1", "d")...)
	b.addUp()
	b.shift(26 * time.Hour)
	b.die(of("newer", "v1", "e")...)
	b.addUp()
	want(9, "new", "newer")
	want(1, "newer")
	b.die(of("old", "v2", "f")...)
	want(1, "newer", "old")
	if list, err := b.Store.Operations().Groups.Begun(b.ctx, "other", 9); err != nil || len(list) > 0 {
		b.Errorf("another consumer has %v, %v", list, err)
	}
}

// groupsExact compares views with what is in the letters, with all changes added up, some, and none.
//
//evidence:group-count
func groupsExact(b *bundle) {
	want := func(f groups.Filter, want ...groups.Group) {
		b.Helper()
		got := b.groups(f)
		ignored := cmpopts.IgnoreFields(groups.Group{}, "State", "StateAt", "First", "Last", "ResolvedAt", "ResolvedBuild")
		if diff := cmp.Diff(want, got, ignored, cmpopts.EquateEmpty()); diff != "" {
			b.Errorf("groups of %+v (-want +got):\n%s", f, diff)
		}
		for _, g := range got {
			if first, last := b.letter(g.FirstLetter), b.letter(g.LastLetter); !g.First.Equal(first.CreatedAt) || !g.Last.Equal(last.CreatedAt) {
				b.Errorf("%s from %s to %s, want %s to %s", g.ErrorFingerprint, g.First, g.Last, first.CreatedAt, last.CreatedAt)
			}
		}
		b.checkAtEnd()
	}
	one := b.die(append(of("common", "v1", "a", "b"), of("rare", "v2", "c")...)...)
	common := groups.Group{
		ID: groups.ID{Consumer: consumer, Handler: handler, ErrorFingerprint: "common"}, Class: dlq.Permanent, Open: 2, Total: 2,
		FirstBuild: "v1", LastBuild: "v1", FirstLetter: one[0], LastLetter: one[1], Sample: "error of b",
	}
	rare := common
	rare.ErrorFingerprint, rare.Open, rare.Total, rare.FirstBuild, rare.LastBuild, rare.FirstLetter, rare.LastLetter, rare.Sample = "rare", 1, 1, "v2", "v2", one[2], one[2], "error of c"
	want(groups.Filter{}, common, rare)
	b.addUp()
	want(groups.Filter{}, common, rare)
	more := of("common", "v3", "d", "e")
	more[1].Class = dlq.Exhausted
	two := b.die(more...)
	b.discard("c")
	common.Open, common.Total, common.LastBuild, common.LastLetter, common.Sample, common.Class = 4, 4, "v3", two[1], "error of e", dlq.Exhausted
	rare.Open = 0
	for range 2 {
		want(groups.Filter{}, common)
		want(groups.Filter{Closed: true}, common, rare)
		want(groups.Filter{ErrorFingerprint: "rare", Closed: true}, rare)
		want(groups.Filter{ErrorFingerprint: "common", Consumer: consumer, Handler: handler}, common)
		for _, none := range []groups.Filter{{ErrorFingerprint: "none"}, {Consumer: "x"}, {Handler: "x"}, {Consumer: "a\x00b"}} {
			want(none)
		}
		b.addUp()
	}
	// A letter moves to another group, as a redriven one that failed in another way.
	b.exec(b.DB, "UPDATE {{schema}}.headrace_dead_letters SET error_fingerprint = 'rare' WHERE key = 'e'")
	b.exec(b.DB, "UPDATE {{schema}}.headrace_dead_letters SET deliveries = deliveries + 1")
	common.Open, rare.Open, rare.Total = 3, 1, 2
	for range 2 {
		if got := b.groups(groups.Filter{}); len(got) != 2 || got[0].Open != 3 || got[1].Open != 1 || got[1].Total != 2 {
			b.Errorf("after a letter has moved: %+v", got)
		}
		b.checkAtEnd()
		b.addUp()
	}
	b.exec(b.DB, "UPDATE {{schema}}.headrace_dead_letters SET class = 'cancelled' WHERE key = 'e'")
	if g := b.group("rare"); g.Open != 0 {
		b.Errorf("a cancelled letter is open in its group: %+v", g)
	}
	b.exec(b.DB, "UPDATE {{schema}}.headrace_dead_letters SET class = 'permanent' WHERE key = 'e'")
}

func groupsHours(b *bundle) {
	b.shift(time.Hour)
	b.die(of("print", "v1", "a", "b")...)
	b.addUp()
	b.die(of("print", "v1", "c")...)
	b.shift(3 * time.Hour)
	b.die(of("print", "v1", "d")...)
	b.die(of("print", "v2", "e", "f")...)
	b.die(of("another", "v2", "g")...)
	b.discard("e")
	want := []groups.Hour{{Build: "v1", Count: 3}, {Build: "v1", Count: 1}, {Build: "v2", Count: 2}}
	for range 2 {
		got, err := b.Store.Operations().Groups.Hours(b.ctx, b.group("print").ID)
		b.must(err)
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(groups.Hour{}, "Start", "First")); diff != "" {
			b.Errorf("hours (-want +got):\n%s", diff)
		}
		days, err := b.Store.Operations().Groups.Day(b.ctx, []groups.ID{{Consumer: "none"}, b.group("print").ID, b.group("another").ID})
		b.must(err)
		if len(days) != 3 || len(days[0]) != 0 || len(days[2]) != 1 || days[2][0].Count != 1 {
			b.Errorf("the last day: %+v", days)
		} else if diff := cmp.Diff(got, days[1]); diff != "" {
			b.Errorf("the last day (-hours +got):\n%s", diff)
		}
		for _, h := range got {
			if !h.Start.Equal(h.Start.Truncate(time.Hour)) || h.First.Before(h.Start) || h.First.Sub(h.Start) >= time.Hour {
				b.Errorf("%+v", h)
			}
		}
		b.addUp()
	}

	b.run("i-1", "v1")
	b.run("i-2", "v2")
	b.run("i-3", "v1")
	b.must(b.Store.Operations().Instances.End(b.ctx, "i-1"))
	for _, key := range []string{"h", "i"} { // from the processes, and from what was noted of them
		builds, err := b.Store.Operations().Groups.Builds(b.ctx, consumer)
		b.must(err)
		if diff := cmp.Diff([]groups.Build{{Name: "v1", Running: 1}, {Name: "v2", Running: 1}}, builds, cmpopts.IgnoreFields(groups.Build{}, "First")); diff != "" {
			b.Errorf("builds (-want +got):\n%s", diff)
		}
		b.die(of("print", "v1", key)...)
		b.addUp()
	}
	b.exec(b.DB, "DELETE FROM {{schema}}.headrace_instances")
	if builds, err := b.Store.Operations().Groups.Builds(b.ctx, consumer); err != nil || len(builds) != 2 || builds[0].Running != 0 {
		b.Errorf("without processes: %+v, %v", builds, err)
	}
}

func groupsOneRow(b *bundle) {
	keys := make([]string, 500)
	for i := range keys {
		keys[i] = time.Duration(i).String()
	}
	b.die(append(of("one", "v1", keys[1:]...), of("two", "v1", keys[0])...)...)
	if n := b.count(b.DB, "SELECT count(*) FROM {{schema}}.headrace_letter_changes"); n != 2 {
		b.Errorf("500 letters of two groups made %d changes", n)
	}
	b.in(func(t *txn.Txn) {
		b.take(t, dlq.Filter{}, dlq.Discarded, 0, 1000)
		b.move(t, inbox.Dead, inbox.Discarded, keys...)
	})
	if n := b.count(b.DB, "SELECT count(*) FROM {{schema}}.headrace_letter_changes"); n != 4 {
		b.Errorf("and their end %d", n)
	}
}

func groupsStates(b *bundle) {
	b.run("i-1", "v1")
	b.die(of("print", "v1", "a", "b")...)
	b.wantGroup("print", groups.New)
	b.shift(25 * time.Hour)
	b.wantGroup("print", groups.Ongoing)
	b.discard("a")
	b.wantGroup("print", groups.Ongoing)
	b.discard("b")
	b.wantGroup("print", groups.Resolved)
	if g := b.group("print"); g.ResolvedAt.IsZero() || g.ResolvedBy != "" || g.ResolvedBuild != "" || !g.StateAt.Equal(g.ResolvedAt) {
		b.Errorf("%+v", g)
	}
	b.die(of("print", "v1", "c")...)
	b.wantGroup("print", groups.Regressed)

	// A person resolves it in the next build; the old process goes on for a while.
	b.run("i-2", "v2")
	b.must(b.Store.Operations().Groups.Resolve(b.ctx, b.group("print").ID, "ann", "v2"))
	b.die(of("print", "v1", "d")...)
	b.wantGroup("print", groups.Resolved)
	if g := b.group("print"); g.Open != 2 || g.ResolvedBy != "ann" || g.ResolvedBuild != "v2" {
		b.Errorf("%+v", g)
	}
	b.die(of("print", "v2", "e")...)
	b.wantGroup("print", groups.Regressed)

	// It was resolved while a letter was on its way, which counts as one from before.
	t := b.begin()
	if b.harness.ConcurrentWriters {
		b.record(t, "f", inbox.Dead)
		b.insertAll(t, of("print", "v2", "f")...)
		b.must(b.Store.Operations().Groups.Resolve(b.ctx, b.group("print").ID, "ann", ""))
		b.commit(t)
		b.wantGroup("print", groups.Resolved)
	}
	t.Rollback()

	// 30 letters in an hour, a week after its first.
	b.must(b.Store.Operations().Groups.Resolve(b.ctx, b.group("print").ID, "ann", ""))
	b.die(of("print", "v2", "g")...)
	b.wantGroup("print", groups.Regressed)
	b.shift(8 * 24 * time.Hour)
	b.wantGroup("print", groups.Ongoing)
	for i := range 30 {
		b.die(of("print", "v2", "h"+time.Duration(i).String())...)
	}
	b.wantGroup("print", groups.Escalating)
	b.shift(8*24*time.Hour + 3*time.Hour)
	b.wantGroup("print", groups.Ongoing)
}

func groupsUnfinished(b *bundle) {
	id := b.die(of("print", "v1", "a")...)[0]
	b.in(func(t *txn.Txn) {
		b.take(t, dlq.Filter{IDs: []int64{id}}, dlq.Redriven, 0, 1)
		b.move(t, inbox.Dead, inbox.Waiting, "a")
		i := item("a")
		i.LetterID = id
		b.put(t, i)
	})
	b.wantGroup("print", groups.New)
	b.in(func(t *txn.Txn) { b.move(t, inbox.Waiting, inbox.Done, "a"); b.remove(t, "a") })
	b.wantGroup("print", groups.Resolved)
}
