package drain

import (
	"math/rand/v2"
	"time"

	"github.com/headrace/headrace/internal/shard"
)

// shards knows where each shard stands.
type shards struct {
	o     Options
	all   [shard.Count]state
	queue []int // in turn
	// bottom says that the poll under way looks below the marks, and bottomAt when
	// the next one shall.
	bottom   bool
	bottomAt time.Time
}

type state struct {
	mark int64
	busy bool // in the queue, or being worked on
	// bottomAt is when the next batch shall begin at the bottom, and usual how long
	// the latest took that did not.
	bottomAt time.Time
	usual    time.Duration
	// restUntil is when the shard may be visited again, and rest how long the last
	// rest was; wanted says that a poll found it while it rested.
	restUntil time.Time
	rest      time.Duration
	wanted    bool
}

func newShards(o Options) *shards { return &shards{o: o} }

// idle counts the shards that a poll could find work for.
func (s *shards) idle() int {
	n := 0
	for i := range s.all {
		if !s.all[i].busy {
			n++
		}
	}
	return n
}

// restEnds returns when the first of the shards that were found while they rested
// may be visited; zero if there is none.
func (s *shards) restEnds() time.Time {
	var first time.Time
	for i := range s.all {
		st := &s.all[i]
		if st.wanted && !st.busy && (first.IsZero() || st.restUntil.Before(first)) {
			first = st.restUntil
		}
	}
	return first
}

// marks returns what to poll with.
func (s *shards) marks(now time.Time) []int64 {
	marks := make([]int64, shard.Count)
	s.bottom = !now.Before(s.bottomAt)
	for i := range s.all {
		s.all[i].wanted = false
		if !s.bottom {
			marks[i] = s.all[i].mark
		}
	}
	return marks
}

// found queues what a poll has found.
func (s *shards) found(a answer, now time.Time) {
	if s.bottom {
		s.bottomAt = now.Add(s.bottomPause(a.took))
	}
	for _, i := range a.Shards {
		if i < 0 || i >= len(s.all) || s.all[i].busy {
			continue
		}
		st := &s.all[i]
		if s.bottom {
			st.bottomAt = now // what was found may stand below the mark
		}
		if now.Before(st.restUntil) {
			st.wanted = true
			continue
		}
		st.busy = true
		s.queue = append(s.queue, i)
	}
}

// next returns the shard whose turn it is.
func (s *shards) next(now time.Time) (job, bool) {
	if len(s.queue) == 0 {
		return job{}, false
	}
	i := s.queue[0]
	if st := &s.all[i]; now.Before(st.bottomAt) {
		return job{i, st.mark}, true
	}
	return job{i, 0}, true
}

func (s *shards) started(j job, now time.Time) {
	s.queue = append(s.queue[:0], s.queue[1:]...)
	if j.after == 0 {
		s.all[j.shard].bottomAt = now.Add(s.o.BottomEvery)
	}
}

// finished learns from a visit, and queues the shard again if it has more.
func (s *shards) finished(o outcome, now time.Time) {
	st := &s.all[o.shard]
	st.busy = false
	switch {
	case o.err != nil:
		s.restAfter(st, firstPause, s.o.MaxPause, now)
		st.wanted = true
		return
	case o.Skipped || o.Rows == 0:
		s.restAfter(st, s.o.MinPoll, s.o.MaxPoll, now)
	default:
		st.rest = 0
	}
	if o.after == 0 {
		st.bottomAt = now.Add(s.bottomPause(o.took - st.usual))
	} else {
		st.usual = o.took
	}
	// After a full batch from the bottom, rows may stand between it and the mark.
	if o.More || o.Mark > st.mark {
		st.mark = o.Mark
	}
	if o.More && st.rest == 0 {
		st.busy = true
		s.queue = append(s.queue, o.shard)
	}
}

// restAfter lets a shard rest, twice as long as the last time.
func (s *shards) restAfter(st *state, first, most time.Duration, now time.Time) {
	st.rest = min(max(2*st.rest, first), most)
	st.restUntil = now.Add(jitter(st.rest))
}

// bottomPause is how long to leave the bottom alone after a look at it that cost
// that much.
func (s *shards) bottomPause(cost time.Duration) time.Duration {
	return max(s.o.BottomEvery, min(slowBottom*cost, maxBottom))
}

// jitter varies d by a quarter either way, so that processes do not beat together.
func jitter(d time.Duration) time.Duration {
	return d - d/4 + time.Duration(rand.Int64N(int64(d/2)+1))
}
