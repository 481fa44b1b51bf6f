package groups_test

import (
	"testing"
	"time"

	"github.com/headrace/headrace/dlq/groups"
)

var (
	now  = time.Date(2026, 3, 4, 15, 30, 0, 0, time.UTC)
	hour = now.Truncate(time.Hour)
)

func ago(d time.Duration) time.Time { return now.Add(-d) }

const day = 24 * time.Hour

// arrives is the newest letter of a build that just came.
func arrives(build string) []groups.Arrival {
	return []groups.Arrival{{Build: build, Letter: 7, At: ago(time.Second)}}
}

// builds are v1, v2 and v3, of which some run.
func builds(running ...int) []groups.Build {
	return []groups.Build{{Name: "v1", First: ago(9 * day), Running: running[0]}, {Name: "v2", First: ago(5 * day), Running: running[1]}, {Name: "v3", First: ago(day), Running: running[2]}}
}

// spread are hours of a build: n letters in each of those that many hours ago.
func spread(n int64, hoursAgo ...int) (hours []groups.Hour) {
	for _, h := range hoursAgo {
		hours = append(hours, groups.Hour{Start: hour.Add(-time.Duration(h) * time.Hour), Build: "v1", Count: n})
	}
	return hours
}

// steady is n letters in each of the 7 days' hours, or in the office hours of each day.
func steady(n int64, office bool) (hours []groups.Hour) {
	for h := range 168 {
		if at := hour.Add(-time.Duration(h) * time.Hour); !office || at.Hour() >= 9 && at.Hour() < 17 {
			hours = append(hours, spread(n, h)...)
		}
	}
	return hours
}

// decision is a case of the table of the states.
type decision struct {
	facts  groups.Facts
	change func(*groups.Facts)
	want   groups.State
}

var (
	ongoing  = groups.Facts{State: groups.Ongoing, StateAt: ago(8 * day), First: ago(9 * day), Open: 5}
	resolved = groups.Facts{State: groups.Resolved, StateAt: ago(2 * day), First: ago(9 * day), Resolved: ago(2 * day), ResolvedBy: "ann", ResolvedBuild: "v2"}
)

func decide(t *testing.T, cases map[string]decision) {
	t.Helper()
	for name, c := range cases {
		f := c.facts
		f.Now = now
		c.change(&f)
		state, why := groups.Decide(f)
		if state != c.want || (why == "") != (f.State == c.want) {
			t.Errorf("%s: %s to %s because %q, want %s", name, f.State, state, why, c.want)
		}
	}
}

// TestNew: how a group begins, and becomes an old one.
//
//evidence:group-state
func TestNew(t *testing.T) {
	decide(t, map[string]decision{
		"the first letter":                      {want: groups.New, change: func(f *groups.Facts) { f.Open, f.Arrivals = 1, arrives("v1") }},
		"a first letter that is closed already": {want: groups.Resolved, change: func(f *groups.Facts) { f.Arrivals = arrives("v1") }},
		"a first letter that is redriven":       {want: groups.New, change: func(f *groups.Facts) { f.Unfinished, f.Arrivals = true, arrives("v1") }},
		"new for 23 hours": {want: groups.New, change: func(f *groups.Facts) {
			f.State, f.StateAt, f.First, f.Open = groups.New, ago(23*time.Hour), ago(23*time.Hour), 1
		}},
		"new for 24 hours": {want: groups.Ongoing, change: func(f *groups.Facts) { f.State, f.StateAt, f.First, f.Open = groups.New, ago(day), ago(day), 1 }},
		"a storm in the first 24 hours": {want: groups.New, change: func(f *groups.Facts) {
			f.State, f.StateAt, f.First, f.Open, f.Hours = groups.New, ago(23*time.Hour), ago(23*time.Hour), 900, spread(900, 0, 1)
		}},
		"the first for 31 days": {ongoing, func(f *groups.Facts) { f.Arrivals, f.Quiet = arrives("v1"), 31*day }, groups.New},
		"the first for 29 days": {ongoing, func(f *groups.Facts) { f.Arrivals, f.Quiet = arrives("v1"), 29*day }, groups.Ongoing},
	})
}

// TestEscalating: many more letters than usual, which a steady rate and office hours never are.
//
//evidence:group-state
func TestEscalating(t *testing.T) {
	decide(t, map[string]decision{
		"20 letters in an hour, none before": {ongoing, func(f *groups.Facts) { f.Hours = spread(20, 0) }, groups.Escalating},
		"19 letters":                         {ongoing, func(f *groups.Facts) { f.Hours = spread(19, 0) }, groups.Ongoing},
		"40 letters in the hour before":      {ongoing, func(f *groups.Facts) { f.Hours = spread(40, 1) }, groups.Escalating},
		"38 letters in the hour before":      {ongoing, func(f *groups.Facts) { f.Hours = spread(38, 1) }, groups.Ongoing},
		"20 letters of two builds": {ongoing, func(f *groups.Facts) {
			f.Hours = append(spread(10, 0), groups.Hour{Start: hour, Build: "v2", Count: 10})
		}, groups.Escalating},
		"five times usual":                     {ongoing, func(f *groups.Facts) { f.Hours = append(spread(10, 5, 9, 30), spread(50, 0)...) }, groups.Escalating},
		"less than five times usual":           {ongoing, func(f *groups.Facts) { f.Hours = append(spread(10, 5, 9, 30), spread(49, 0)...) }, groups.Ongoing},
		"five times what was usual a week ago": {ongoing, func(f *groups.Facts) { f.Hours = append(spread(1000, 169, 170, 171), spread(20, 0)...) }, groups.Escalating},
		"a steady rate":                        {ongoing, func(f *groups.Facts) { f.Hours = steady(300, false) }, groups.Ongoing},
		"office hours":                         {ongoing, func(f *groups.Facts) { f.Hours = steady(300, true) }, groups.Ongoing},
		"twice usual goes on escalating": {ongoing, func(f *groups.Facts) {
			f.State, f.Hours = groups.Escalating, append(spread(10, 5, 9, 30), spread(20, 0)...)
		}, groups.Escalating},
		"below twice usual": {ongoing, func(f *groups.Facts) {
			f.State, f.Hours = groups.Escalating, append(spread(10, 5, 9, 30), spread(19, 0)...)
		}, groups.Ongoing},
	})
}

// TestResolved: what ends a group, and which letter makes it begin again.
//
//evidence:group-state
func TestResolved(t *testing.T) {
	decide(t, map[string]decision{
		"its last letter is closed":                {ongoing, func(f *groups.Facts) { f.Open = 0 }, groups.Resolved},
		"closed while it escalates":                {ongoing, func(f *groups.Facts) { f.State, f.Open, f.Hours = groups.Escalating, 0, spread(900, 0) }, groups.Resolved},
		"closed, and a redrive is under way":       {ongoing, func(f *groups.Facts) { f.Open, f.Unfinished = 0, true }, groups.Ongoing},
		"a letter is open":                         {ongoing, func(f *groups.Facts) { f.Open = 1 }, groups.Ongoing},
		"resolved, and nothing came":               {resolved, func(f *groups.Facts) {}, groups.Resolved},
		"resolved, and letters are open":           {resolved, func(f *groups.Facts) { f.Open = 3 }, groups.Resolved},
		"resolved, a storm from before":            {resolved, func(f *groups.Facts) { f.Hours = spread(900, 0) }, groups.Resolved},
		"a letter of the build that resolves it":   {resolved, func(f *groups.Facts) { f.Arrivals, f.Builds = arrives("v2"), builds(0, 1, 0) }, groups.Regressed},
		"a letter of a newer build":                {resolved, func(f *groups.Facts) { f.Arrivals, f.Builds = arrives("v3"), builds(0, 0, 1) }, groups.Regressed},
		"a letter of an old pod":                   {resolved, func(f *groups.Facts) { f.Arrivals, f.Builds = arrives("v1"), builds(1, 1, 0) }, groups.Resolved},
		"a letter of an old pod, a newer one runs": {resolved, func(f *groups.Facts) { f.Arrivals, f.Builds = arrives("v1"), builds(1, 0, 1) }, groups.Resolved},
		"a rollback":                               {resolved, func(f *groups.Facts) { f.Arrivals, f.Builds = arrives("v1"), builds(1, 0, 0) }, groups.Regressed},
		"a rollback, and no letter":                {resolved, func(f *groups.Facts) { f.Open, f.Builds = 3, builds(1, 0, 0) }, groups.Resolved},
		"a letter of an unknown build":             {resolved, func(f *groups.Facts) { f.Arrivals, f.Builds = arrives("v9"), builds(1, 1, 0) }, groups.Regressed},
		"a letter of an old pod and a new one": {resolved, func(f *groups.Facts) {
			f.Arrivals, f.Builds = append(arrives("v1"), arrives("v3")...), builds(1, 1, 1)
		}, groups.Regressed},
		"a letter from before a person resolved it": {resolved, func(f *groups.Facts) {
			f.Arrivals, f.Builds = []groups.Arrival{{Build: "v2", At: ago(3 * day)}}, builds(0, 1, 0)
		}, groups.Resolved},
		"a letter whose commit came after it resolved by itself": {resolved, func(f *groups.Facts) {
			f.ResolvedBy, f.Arrivals, f.Builds = "", []groups.Arrival{{Build: "v2", At: ago(3 * day)}}, builds(0, 1, 0)
		}, groups.Regressed},
		"builds are all equal": {resolved, func(f *groups.Facts) {
			f.ResolvedBuild, f.Arrivals, f.Builds = "(devel)", arrives("(devel)"), []groups.Build{{Name: "(devel)", First: ago(9 * day), Running: 1}}
		}, groups.Regressed},
		"no build was named":                {resolved, func(f *groups.Facts) { f.ResolvedBuild, f.Arrivals, f.Builds = "", arrives("v1"), builds(1, 1, 0) }, groups.Regressed},
		"a build of the future":             {resolved, func(f *groups.Facts) { f.ResolvedBuild, f.Arrivals, f.Builds = "v4", arrives("v3"), builds(0, 0, 1) }, groups.Resolved},
		"a build of the future, its letter": {resolved, func(f *groups.Facts) { f.ResolvedBuild, f.Arrivals, f.Builds = "v4", arrives("v4"), builds(0, 0, 1) }, groups.Regressed},
		"a build that did not start for 7 days": {resolved, func(f *groups.Facts) {
			f.Resolved, f.ResolvedBuild, f.Arrivals, f.Builds = ago(7*day), "v4", arrives("v3"), builds(0, 0, 1)
		}, groups.Regressed},
		"regressed for 23 hours": {ongoing, func(f *groups.Facts) {
			f.State, f.StateAt, f.Hours = groups.Regressed, ago(23*time.Hour), spread(900, 0)
		}, groups.Regressed},
		"regressed for 24 hours": {ongoing, func(f *groups.Facts) { f.State, f.StateAt = groups.Regressed, ago(day) }, groups.Ongoing},
		"expired":                {ongoing, func(f *groups.Facts) { f.Open, f.Expired = 0, true }, groups.Resolved},
		"restored":               {resolved, func(f *groups.Facts) { f.Open, f.Restored = 3, true }, groups.Ongoing},
	})
}

// TestCauses: an audit row says why.
func TestCauses(t *testing.T) {
	for want, f := range map[string]groups.Facts{
		"expired: its last open letters were removed after their retention": {State: groups.Ongoing, Expired: true},
		"its last letter was closed":                                        {State: groups.Ongoing},
		"24 letters in 60 minutes, usual are 4":                             {State: groups.Ongoing, Open: 1, Hours: spread(24, 0)},
		"letter 7 of build v1 came, and no process runs v2 any more": {
			State: groups.Resolved, Resolved: ago(day), ResolvedBuild: "v2", Arrivals: arrives("v1"), Builds: builds(1, 0, 0),
		},
	} {
		f.Now = now
		if _, why := groups.Decide(f); why != want {
			t.Errorf("%q, want %q", why, want)
		}
	}
}

func TestMuted(t *testing.T) {
	for name, c := range map[string]struct {
		group groups.Group
		want  bool
	}{
		"not":                 {groups.Group{}, false},
		"without an end":      {groups.Group{Mute: groups.Mute{MutedBy: "ann"}}, true},
		"until later":         {groups.Group{Mute: groups.Mute{MutedBy: "ann", MutedUntil: now.Add(1)}}, true},
		"until now":           {groups.Group{Mute: groups.Mute{MutedBy: "ann", MutedUntil: now}}, false},
		"for more letters":    {groups.Group{Total: 9, Mute: groups.Mute{MutedBy: "ann", MutedCount: 10}}, true},
		"for no more letters": {groups.Group{Total: 10, Mute: groups.Mute{MutedBy: "ann", MutedCount: 10}}, false},
	} {
		if got := c.group.Muted(now); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestMendedBy: the build that runs mended what was redriven, and not what was given up.
func TestMendedBy(t *testing.T) {
	for name, c := range map[string]struct {
		sum  *groups.Sum
		want string
	}{
		"redriven":            {&groups.Sum{Closed: 3}, "v2"},
		"some discarded":      {&groups.Sum{Closed: 3, Discarded: 2}, "v2"},
		"a redrive has ended": {nil, "v2"},
		"discarded":           {&groups.Sum{Closed: 3, Discarded: 3}, ""},
		"expired":             {&groups.Sum{Closed: 3, Discarded: 1, Expired: 2}, ""},
	} {
		g := groups.Group{State: groups.Ongoing, StateAt: now, First: ago(day)}
		if c.sum != nil {
			g.Open = c.sum.Closed
		}
		if g.Apply(c.sum, groups.Facts{Now: now, Builds: builds(0, 1, 0)}); g.State != groups.Resolved || g.ResolvedBuild != c.want {
			t.Errorf("%s: %s in %q, want %q", name, g.State, g.ResolvedBuild, c.want)
		}
	}
}
