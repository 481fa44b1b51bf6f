package groups

import (
	"fmt"
	"slices"
	"time"
)

const (
	// young is how long a group is new or regressed.
	young = 24 * time.Hour
	// forgotten is after how long without a letter a group is new again.
	forgotten = 30 * 24 * time.Hour
	// unborn is for how long a build may be named that no process has started.
	unborn = 7 * 24 * time.Hour
	// week is how far back the usual number of letters an hour is read.
	week = 7 * 24 * time.Hour
	// leastUsual is the least number that counts as usual: 20 letters an hour may escalate.
	leastUsual = 4
	// Escalation begins at so many times the usual number, and ends below so many.
	escalates, calms = 5, 2
)

// Facts are all that the state of a group depends on.
type Facts struct {
	// State is the present state since StateAt; "" if the group is not there yet.
	State   State
	StateAt time.Time
	// Open is how many letters are open now, First when the first letter ever came.
	Open  int64
	First time.Time
	// Quiet is how long no letter had come before the Arrivals; 0 if there was none.
	Quiet time.Duration
	// Arrivals are the letters that were opened since the state was last decided.
	Arrivals []Arrival
	// Restored says that discarded letters are open again.
	Restored bool
	// Expired says that the last open letters were removed by retention.
	Expired bool
	// Resolved is when the group was resolved. ResolvedBy and ResolvedBuild are as in Group.
	Resolved                  time.Time
	ResolvedBy, ResolvedBuild string
	// Unfinished says that a redrive of its letters is under way.
	Unfinished bool
	// Hours are the letters of the last week, in any order.
	Hours []Hour
	// Builds are those of the consumer, in the order of their first start.
	Builds []Build
	// Now is the time of the database.
	Now time.Time
}

// Arrival is the newest of the letters that a build has written.
type Arrival struct {
	// Build wrote Letter at the time At, by the database's clock.
	Build  string
	Letter int64
	At     time.Time
}

// Decide returns the state of a group, and why it changed; "" if it did not. It is a pure
// function.
func Decide(f Facts) (State, string) {
	if f.State == "" {
		f.State, f.StateAt = New, f.Now
		if f.Open > 0 || f.Unfinished {
			return New, "its first letter"
		}
		next, why := closed(f)
		return next, why
	}
	if f.State == Resolved {
		return afterResolved(f)
	}
	if f.Open == 0 && !f.Unfinished {
		return closed(f)
	}
	if len(f.Arrivals) > 0 && f.Quiet > forgotten {
		return New, fmt.Sprintf("the first letter for %d days", int(f.Quiet/(24*time.Hour)))
	}
	switch f.State {
	case New, Regressed:
		if f.Now.Sub(f.StateAt) >= young {
			return Ongoing, fmt.Sprintf("%s for 24 hours", f.State)
		}
	case Ongoing:
		n, usual := lastHour(f.Hours, f.Now), usualHour(f.Hours, f.Now)
		if n >= escalates*usual && f.Now.Sub(f.First) >= young {
			return Escalating, fmt.Sprintf("%d letters in 60 minutes, usual are %d", n, usual)
		}
	case Escalating:
		n, usual := lastHour(f.Hours, f.Now), usualHour(f.Hours, f.Now)
		if n < calms*usual {
			return Ongoing, fmt.Sprintf("%d letters in 60 minutes, usual are %d", n, usual)
		}
	}
	return f.State, ""
}

func closed(f Facts) (State, string) {
	if f.Expired {
		return Resolved, "expired: its last open letters were removed after their retention"
	}
	return Resolved, "its last letter was closed"
}

// afterResolved decides whether a resolved group has regressed.
func afterResolved(f Facts) (State, string) {
	for _, a := range f.Arrivals {
		// What a person saw were the letters from before. The group was resolved by itself
		// because no letter was there: one that is there now is new, even if it was written
		// by a transaction that began before.
		if f.ResolvedBy != "" && a.At.Before(f.Resolved) {
			continue
		}
		if why := f.regression(a); why != "" {
			return Regressed, fmt.Sprintf("letter %d %s", a.Letter, why)
		}
	}
	if f.Restored && f.Open > 0 {
		return Ongoing, "discarded letters were restored"
	}
	return Resolved, ""
}

// regression says why a letter that came after the group was resolved makes it regressed; ""
// if it does not.
func (f Facts) regression(a Arrival) string {
	fixed := f.find(f.ResolvedBuild)
	switch {
	case f.ResolvedBuild == "" || a.Build == f.ResolvedBuild:
		return "came after it was resolved"
	case fixed < 0 && f.Now.Sub(f.Resolved) < unborn:
		return "" // every build that has started is older
	case fixed < 0:
		return fmt.Sprintf("came after it was resolved, and build %s has not started for 7 days", f.ResolvedBuild)
	}
	wrote := f.find(a.Build)
	if wrote < 0 || wrote > fixed || f.Builds[wrote].First.Equal(f.Builds[fixed].First) {
		return fmt.Sprintf("of build %s came after it was resolved in %s", a.Build, f.ResolvedBuild)
	}
	if !slices.ContainsFunc(f.Builds[fixed:], func(b Build) bool { return b.Running > 0 }) {
		return fmt.Sprintf("of build %s came, and no process runs %s any more", a.Build, f.ResolvedBuild)
	}
	return ""
}

func (f Facts) find(build string) int {
	return slices.IndexFunc(f.Builds, func(b Build) bool { return b.Name == build })
}

// NewestRunning returns the newest build that runs; "" if none does.
func NewestRunning(builds []Build) string {
	for _, b := range slices.Backward(builds) {
		if b.Running > 0 {
			return b.Name
		}
	}
	return ""
}

// lastHour is how many letters came in the last 60 minutes: those of this hour, and the share
// of those of the hour before that lies in them.
func lastHour(hours []Hour, now time.Time) int64 {
	this := now.UTC().Truncate(time.Hour)
	var n, before int64
	for _, h := range hours {
		switch {
		case h.Start.Equal(this):
			n += h.Count
		case h.Start.Equal(this.Add(-time.Hour)):
			before += h.Count
		}
	}
	left := time.Hour - now.Sub(this)
	return n + before*int64(left/time.Second)/int64(time.Hour/time.Second)
}

// usualHour is the median of the hours with letters of the week before, at least 4. A median over
// all hours would be 0 for a young group or for office hours.
func usualHour(hours []Hour, now time.Time) int64 {
	this := now.UTC().Truncate(time.Hour)
	counts := make(map[time.Time]int64)
	for _, h := range hours {
		if h.Start.Before(this.Add(-time.Hour)) && now.Sub(h.Start) <= week {
			counts[h.Start.UTC()] += h.Count
		}
	}
	sorted := make([]int64, 0, len(counts))
	for _, n := range counts {
		sorted = append(sorted, n)
	}
	slices.Sort(sorted)
	if len(sorted) == 0 {
		return leastUsual
	}
	return max(leastUsual, sorted[len(sorted)/2])
}
