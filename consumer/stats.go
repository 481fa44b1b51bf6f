package consumer

import "github.com/headrace/headrace/internal/task"

// Stats counts what this process did since Run began. Delivered is the sum of the
// outcomes of deliveries and of InFlight; rows of the backlog count separately.
type Stats struct {
	Delivered  int64 // deliveries received
	Applied    int64 // deliveries whose effects were committed
	Duplicates int64 // deliveries of messages taken before
	Stale      int64 // deliveries found out of date
	Waiting    int64 // deliveries put into the backlog
	Dead       int64 // deliveries that became dead letters, without the conflicts
	Conflicts  int64 // deliveries whose key belonged to another message
	Released   int64 // deliveries given back to the broker

	BacklogApplied int64 // backlog rows whose effects were committed
	BacklogDead    int64 // backlog rows that became dead letters
	BacklogStale   int64 // backlog rows found out of date

	FailedRuns int64 // runs of a handler that failed
	InFlight   int64 // deliveries that have no outcome yet
}

// Stats returns the counts. They are taken one after the other, not at one moment.
func (c *Consumer) Stats() Stats {
	n := &c.rt.Counters
	live := func(o task.Outcome) int64 { return n.Live[o].Load() }
	stats := Stats{
		Applied: live(task.Applied), Duplicates: live(task.Duplicate), Stale: live(task.Stale),
		Waiting: live(task.Waiting), Dead: live(task.Dead), Conflicts: live(task.Conflict), Released: live(task.Released),
		BacklogApplied: n.Backlog[task.Applied].Load(), BacklogDead: n.Backlog[task.Dead].Load(), BacklogStale: n.Backlog[task.Stale].Load(),
		FailedRuns: n.Failed.Load(),
	}
	stats.Delivered = n.Delivered.Load()
	ended := stats.Applied + stats.Duplicates + stats.Stale + stats.Waiting + stats.Dead + stats.Conflicts + stats.Released
	stats.InFlight = max(0, stats.Delivered-ended)
	return stats
}
