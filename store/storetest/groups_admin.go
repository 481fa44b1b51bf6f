package storetest

import (
	"errors"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headrace/headrace/audit"
	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/inbox"
)

func groupsPeople(b *bundle) {
	store := b.Store.Operations().Groups
	b.die(of("print", "v1", "a")...)
	b.addUp()
	id := b.group("print").ID
	text := func(s string) *string { return &s }
	b.must(store.Note(b.ctx, id, groups.Note{By: "ann", Assignee: text("ann"), Text: text("it is the bank's")}))
	b.must(store.Note(b.ctx, id, groups.Note{By: "bob", Text: text(""), Link: text("https://tickets/412")}))
	if g := b.group("print"); g.Assignee != "ann" || g.Note != "" || g.Link != "https://tickets/412" {
		b.Errorf("%+v", g)
	}
	now := func() time.Time { return b.group("print").Last }
	b.must(store.Mute(b.ctx, id, groups.Mute{MutedBy: "ann"}, time.Hour, 0))
	if g := b.group("print"); !g.Muted(now().Add(59*time.Minute)) || g.Muted(now().Add(61*time.Minute)) || g.MutedCount != 0 {
		b.Errorf("muted for an hour: %+v", g)
	}
	b.must(store.Mute(b.ctx, id, groups.Mute{MutedBy: "ann"}, 0, 2))
	for _, muted := range []bool{true, false} {
		b.die(of("print", "v1", "b"+time.Now().String())...)
		if g := b.group("print"); g.Muted(now()) != muted {
			b.Errorf("%d letters: %+v", g.Total, g)
		}
	}
	b.addUp()
	if was, err := store.Unmute(b.ctx, id, "bob"); err != nil || !was {
		b.Errorf("Unmute: %t, %v", was, err)
	}
	if was, err := store.Unmute(b.ctx, id, "bob"); err != nil || was {
		b.Errorf("Unmute again: %t, %v", was, err)
	}
	// A mute ends when the group regresses, unless it is for that, too.
	for _, even := range []bool{false, true} {
		b.must(store.Mute(b.ctx, id, groups.Mute{MutedBy: "ann", EvenIfWorse: even}, 0, 0))
		b.must(store.Resolve(b.ctx, id, "ann", ""))
		b.die(of("print", "v1", "c"+time.Now().String())...)
		b.wantGroup("print", groups.Regressed)
		if g := b.group("print"); g.Muted(now()) != even || g.EvenIfWorse != even {
			b.Errorf("even if worse: %t: %+v", even, g)
		}
	}
	if diff := cmp.Diff([]string{
		"headrace regressed", "ann resolve", "ann mute", "headrace regressed", "ann resolve", "ann mute", "bob unmute", "ann mute", "ann mute", "bob note", "ann note", "headrace new",
	}, b.groupTrail("print")); diff != "" {
		b.Errorf("audit (-want +got):\n%s", diff)
	}
	none := groups.ID{Consumer: consumer, Handler: handler, ErrorFingerprint: "none"}
	for what, err := range map[string]error{
		"Resolve": store.Resolve(b.ctx, none, "ann", ""), "Mute": store.Mute(b.ctx, none, groups.Mute{MutedBy: "ann"}, 0, 0), "Note": store.Note(b.ctx, none, groups.Note{}),
	} {
		if !errors.Is(err, groups.ErrNotFound) {
			b.Errorf("%s of no group: %v", what, err)
		}
	}
}

// groupTrail is who did what to a group, newest first.
func (b *bundle) groupTrail(print string) (trail []string) {
	b.Helper()
	rows, err := b.Store.Operations().Audit.List(b.ctx, audit.Filter{Kind: audit.Group, Subject: print}, 0, 100)
	b.must(err)
	for _, r := range rows {
		trail = append(trail, r.By+" "+r.Action)
		if r.Detail == "" || r.By == "headrace" && r.Reason == "" {
			b.Errorf("%+v", r)
		}
	}
	return trail
}

// groupsLate: a change has an earlier number than one that is committed, and added up, before it.
//
//evidence:group-count
func groupsLate(b *bundle) {
	late := b.begin()
	b.record(late, "a", inbox.Dead)
	b.insertAll(late, of("print", "v1", "a")...)
	b.die(of("print", "v1", "b")...)
	b.addUp()
	b.commit(late)
	for range 2 {
		if g := b.group("print"); g.Open != 2 || g.Total != 2 {
			b.Errorf("%d open of %d, want 2", g.Open, g.Total)
		}
		b.addUp()
	}
}

// groupsOneCounter: while another process counts, nothing is added up twice or waited for.
func groupsOneCounter(b *bundle) {
	b.die(of("print", "v1", "a")...)
	t := b.begin()
	if _, locked, err := b.Store.Operations().Groups.Lock(b.ctx, t); err != nil || !locked {
		b.Fatalf("%t, %v", locked, err)
	}
	b.must(b.counter().AddUp(b.ctx))
	if _, waits, err := b.Store.Operations().Groups.Behind(b.ctx); err != nil || !waits {
		b.Errorf("%t, %v", waits, err)
	}
	t.Rollback()
	b.addUp()
	if g := b.group("print"); g.Open != 1 || g.Total != 1 {
		b.Errorf("%+v", g)
	}
}

// groupsRecount: a restore without triggers, with them twice, and counters that are wrong.
func groupsRecount(b *bundle) {
	b.run("i-1", "v1")
	b.die(append(of("old", "v1", "a", "b", "x"), of("gone", "v1", "c")...)...)
	b.discard("x")
	b.addUp()
	b.must(b.Store.Operations().Groups.Mute(b.ctx, b.group("old").ID, groups.Mute{MutedBy: "ann"}, 0, 0))
	b.die(of("new", "v2", "d")...)
	b.exec(b.DB, "DELETE FROM {{schema}}.headrace_letter_changes")
	b.exec(b.DB, "UPDATE {{schema}}.headrace_groups SET open = open + 5")
	b.exec(b.DB, "UPDATE {{schema}}.headrace_dead_letters SET class = 'cancelled' WHERE key = 'c'")
	b.exec(b.DB, "INSERT INTO {{schema}}.headrace_letter_changes (consumer, handler, error_fingerprint, class, build, opened, closed, expired, at) SELECT consumer, handler, error_fingerprint, class, build, 1, 0, 0, created_at FROM {{schema}}.headrace_dead_letters")
	for range 2 {
		b.must(b.Store.Operations().Groups.Recount(b.ctx))
	}
	for print, want := range map[string][2]int64{"old": {2, 3}, "gone": {0, 1}, "new": {1, 1}} {
		if g := b.group(print); g.Open != want[0] || g.Total != want[1] {
			b.Errorf("%s: %d of %d, want %d of %d", print, g.Open, g.Total, want[0], want[1])
		}
	}
	if g := b.group("old"); g.MutedBy != "ann" {
		b.Errorf("%+v", g)
	}
	if g := b.group("new"); g.State != groups.New || g.FirstBuild != "v2" || g.Sample != "error of d" || g.FirstLetter != g.LastLetter {
		b.Errorf("%+v", g)
	}
	for print, want := range map[string]int64{"old": 3, "new": 1} {
		hours, err := b.Store.Operations().Groups.Hours(b.ctx, b.group(print).ID)
		b.must(err)
		if len(hours) == 0 || hours[0].Count != want {
			b.Errorf("hours of %s: %+v", print, hours)
		}
	}
	b.exec(b.DB, "UPDATE {{schema}}.headrace_dead_letters SET class = 'permanent' WHERE key = 'c'")
}

func groupsPrune(b *bundle) {
	b.run("i-1", "v1")
	b.die(append(of("open", "v1", "a"), of("closed", "v1", "b")...)...)
	b.discard("b")
	b.addUp()
	b.must(b.Store.Operations().Instances.End(b.ctx, "i-1"))
	b.exec(b.DB, "DELETE FROM {{schema}}.headrace_instances")
	counts := func() [3]int {
		b.must(b.Store.Operations().Groups.Prune(b.ctx))
		return [3]int{
			b.count(b.DB, "SELECT count(*) FROM {{schema}}.headrace_group_hours"), b.count(b.DB, "SELECT count(*) FROM {{schema}}.headrace_groups"),
			b.count(b.DB, "SELECT count(*) FROM {{schema}}.headrace_builds"),
		}
	}
	for _, c := range []struct {
		days int
		want [3]int
	}{{0, [3]int{2, 2, 1}}, {34, [3]int{2, 2, 1}}, {36, [3]int{0, 2, 1}}, {179, [3]int{0, 2, 1}}, {181, [3]int{0, 1, 1}}, {366, [3]int{0, 1, 0}}} {
		b.shift(time.Duration(c.days) * 24 * time.Hour)
		if got := counts(); got != c.want {
			b.Errorf("after %d days: %v hours, groups and builds, want %v", c.days, got, c.want)
		}
	}
}

func groupsExpire(b *bundle) {
	b.die(of("print", "v1", "a")...)
	b.addUp()
	b.shift(96 * time.Hour)
	open := plan
	open.OpenLetters = 72 * time.Hour
	if done := b.prune(inbox.PruneRequest{Plan: open, Limit: 10}, nil); done.Letters != 1 {
		b.Fatalf("%+v", done)
	}
	if n := b.count(b.DB, "SELECT sum(expired) FROM {{schema}}.headrace_letter_changes"); n != 1 {
		b.Errorf("%d expired", n)
	}
	if g := b.group("print"); g.Open != 0 {
		b.Errorf("%+v", g)
	}
	b.wantGroup("print", groups.Resolved)
}
