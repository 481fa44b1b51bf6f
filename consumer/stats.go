package consumer

import (
	"sync/atomic"

	"github.com/headrace/headrace/internal/group"
)

// Stats counts what this process did since Run began. Delivered is the sum of the
// outcomes of deliveries and of what is in flight; rows of the backlog count apart.
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

type counters struct {
	delivered, failed           atomic.Int64
	live                        [group.Released + 1]atomic.Int64
	backApplied, backDead, back atomic.Int64
}

// Stats returns the counts. They are taken one after the other, not at one moment.
func (c *Consumer) Stats() Stats {
	s := &c.stats
	live := func(o group.Outcome) int64 { return s.live[o].Load() }
	stats := Stats{
		Applied: live(group.Applied), Duplicates: live(group.Duplicate), Stale: live(group.Stale),
		Waiting: live(group.Waiting), Dead: live(group.Dead), Conflicts: live(group.Conflict), Released: live(group.Released),
		BacklogApplied: s.backApplied.Load(), BacklogDead: s.backDead.Load(), BacklogStale: s.back.Load(),
		FailedRuns: s.failed.Load(),
	}
	stats.Delivered = s.delivered.Load()
	ended := stats.Applied + stats.Duplicates + stats.Stale + stats.Waiting + stats.Dead + stats.Conflicts + stats.Released
	stats.InFlight = max(0, stats.Delivered-ended)
	return stats
}

func (s *counters) drained(o group.Outcome) {
	switch o {
	case group.Applied:
		s.backApplied.Add(1)
	case group.Dead:
		s.backDead.Add(1)
	case group.Stale:
		s.back.Add(1)
	}
}
