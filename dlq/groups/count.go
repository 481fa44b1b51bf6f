package groups

import (
	"slices"
	"time"

	"github.com/headrace/headrace/dlq"
)

// Sum is the changes of one group added up.
type Sum struct {
	// Opened, Closed, Expired and Discarded are as in Change.
	Opened, Closed, Expired, Discarded int64
	// Oldest and Newest are letters that were opened, 0 if none was.
	Oldest, Newest int64
	// First and Last are their times, FirstBuild and LastBuild their builds, Class is that of
	// the newest.
	First, Last           time.Time
	FirstBuild, LastBuild string
	Class                 dlq.Class
	// Arrivals are the newest letters of each build, and Hours what to add to the hours.
	Arrivals []Arrival
	Hours    []Hour
}

// Add adds changes up by group.
func Add(changes []Change) map[ID]*Sum {
	sums := make(map[ID]*Sum)
	for _, c := range changes {
		s := sums[c.ID]
		if s == nil {
			s = &Sum{Class: c.Class}
			sums[c.ID] = s
		}
		s.Opened, s.Closed, s.Expired, s.Discarded = s.Opened+c.Opened, s.Closed+c.Closed, s.Expired+c.Expired, s.Discarded+c.Discarded
		if c.Opened > 0 {
			s.open(c)
		}
	}
	return sums
}

func (s *Sum) open(c Change) {
	if s.Oldest == 0 || c.Oldest < s.Oldest {
		s.Oldest, s.First, s.FirstBuild = c.Oldest, c.At, c.Build
	}
	if c.Newest > s.Newest {
		s.Newest, s.Last, s.LastBuild, s.Class = c.Newest, c.At, c.Build, c.Class
	}
	if i := slices.IndexFunc(s.Arrivals, func(a Arrival) bool { return a.Build == c.Build }); i < 0 {
		s.Arrivals = append(s.Arrivals, Arrival{c.Build, c.Newest, c.At})
	} else if c.At.After(s.Arrivals[i].At) {
		s.Arrivals[i] = Arrival{c.Build, c.Newest, c.At}
	}
	s.Hours = AddHour(s.Hours, Hour{c.At.UTC().Truncate(time.Hour), c.Build, c.Opened, c.At})
}

// AddHour adds the letters of an hour to those of its hour and build.
func AddHour(hours []Hour, h Hour) []Hour {
	i := slices.IndexFunc(hours, func(o Hour) bool { return o.Build == h.Build && o.Start.Equal(h.Start) })
	if i < 0 {
		return append(hours, h)
	}
	hours[i].Count += h.Count
	if h.First.Before(hours[i].First) {
		hours[i].First = h.First
	}
	return hours
}

// Apply adds a sum to the group, which is the zero Group with an ID if it is not there yet,
// decides its state at the time now, and returns why that changed; "" if it did not. s is nil
// if only time went by. f has the facts that the group itself does not know: Unfinished, Hours and
// Builds.
func (g *Group) Apply(s *Sum, f Facts) (why string) {
	if s != nil {
		f.Arrivals = s.Arrivals
		if !g.Last.IsZero() && s.Opened > 0 {
			f.Quiet = s.First.Sub(g.Last)
		}
		g.add(s)
		f.Expired = s.Expired > 0 && s.Expired == s.Closed
		f.Restored = s.Discarded < 0
	}
	f.State, f.StateAt, f.Open, f.First = g.State, g.StateAt, g.Open, g.First
	f.Resolved, f.ResolvedBy, f.ResolvedBuild = g.ResolvedAt, g.ResolvedBy, g.ResolvedBuild
	state, why := Decide(f)
	if why == "" {
		return ""
	}
	g.State, g.StateAt = state, f.Now
	switch state {
	case Resolved:
		g.ResolvedAt, g.ResolvedBy, g.ResolvedBuild = f.Now, "", ""
		if !s.givenUp() {
			g.ResolvedBuild = NewestRunning(f.Builds)
		}
	case Regressed, Escalating:
		if !g.EvenIfWorse {
			g.Mute = Mute{}
		}
	}
	return why
}

// givenUp says that no build has mended what was closed: it was discarded, or removed.
func (s *Sum) givenUp() bool { return s != nil && s.Closed > 0 && s.Closed == s.Expired+s.Discarded }

func (g *Group) add(s *Sum) {
	g.Open, g.Total = g.Open+s.Opened-s.Closed, g.Total+s.Opened
	if g.Class == "" {
		g.Class = s.Class
	}
	if g.FirstLetter == 0 && s.Oldest > 0 {
		g.First, g.FirstBuild, g.FirstLetter = s.First, s.FirstBuild, s.Oldest
	}
	if s.Newest > g.LastLetter {
		g.Last, g.LastBuild, g.LastLetter, g.Class = s.Last, s.LastBuild, s.Newest, s.Class
	}
}
