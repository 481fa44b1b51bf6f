package instance

import (
	"cmp"
	"slices"
	"time"
)

// Missed is how long an instance may go without a beat before it counts as dead: several
// beats, so that a late beat does no harm.
const Missed = 12 * time.Second

// Instance is one run of a consumer in one process. Times are by the database's clock.
type Instance struct {
	// ID is made by the process, and never used again; Consumer is the name of its
	// consumer.
	ID       string
	Consumer string
	// Host and Build say where it runs, and which build of the user's program; "" if
	// unknown.
	Host  string
	Build string
	// Environment says which of several deployments it belongs to, such as "production";
	// "" if unknown.
	Environment string
	// Handlers are the names of its handlers; nil if unknown.
	Handlers []string
	// Started is when it started.
	Started time.Time
	// Beat is the time of its last beat; Age how long ago that was when it was read.
	Beat time.Time
	Age  time.Duration
	// Ended is when it ended normally; zero while it runs, and if it ended unexpectedly.
	Ended time.Time
	// Counted is when its death was counted against the messages in its marks; zero if
	// it was not. DeadFor is how long ago that was when it was read.
	Counted time.Time
	DeadFor time.Duration
	// Work is what it did lately, as its last beat said.
	Work
}

// Work is what a consumer's process has done in the last few beats, about 15 seconds.
type Work struct {
	// Rate is how many messages were applied in a second.
	Rate float64
	// Median is how long a run of a handler took, wrong by an eighth at most; 0 without a run.
	Median time.Duration
}

// WorkOf returns the work of the instances that run: the sum of their rates, and the middle one of
// their medians.
func WorkOf(list []Instance) (all Work) {
	list = slices.DeleteFunc(slices.Clone(list), func(i Instance) bool { return !i.Alive() })
	for _, i := range list {
		all.Rate += i.Rate
	}
	list = slices.DeleteFunc(list, func(i Instance) bool { return i.Median == 0 })
	slices.SortFunc(list, func(a, b Instance) int { return cmp.Compare(a.Median, b.Median) })
	if len(list) > 0 {
		all.Median = list[len(list)/2].Median
	}
	return all
}

// Dead reports whether the instance ended unexpectedly: it has not beaten for longer
// than missed.
func (i Instance) Dead(missed time.Duration) bool { return i.Ended.IsZero() && i.Age > missed }

// Alive reports whether the instance runs: it has not ended, and has beaten within Missed.
func (i Instance) Alive() bool { return i.Ended.IsZero() && !i.Dead(Missed) }
