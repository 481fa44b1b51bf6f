package drain

import (
	"math/rand/v2"
	"time"

	"github.com/headrace/headrace/internal/shard"
)

// shards holds the state of each shard.
type shards struct {
	o     Options
	all   [shard.Count]state
	queue []int // in turn
	// bottom says that the poll under way looks below the marks; bottomAt is when the
	// next one should.
	bottom   bool
	bottomAt time.Time
}

type state struct {
	mark int64
	busy bool // in the queue, or being worked on
	// bottom says that the next batch begins below the mark.
	bottom bool
	// For a shard that had more rows each time, and was not polled: when to begin at the
	// bottom again, and how long the latest batch took that did not.
	bottomAt time.Time
	usual    time.Duration
	// restUntil is when the shard may be visited again, and rest how long the last rest
	// was; wanted says that a poll found rows in it while it rested.
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

// restEnds returns when the first resting shard with work may be visited; zero if there
// is none.
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

// marks returns the marks for the next poll.
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

// found queues the shards that a poll has found.
func (s *shards) found(a answer, now time.Time) {
	if s.bottom {
		s.bottomAt = now.Add(s.bottomPause(a.took))
	}
	for _, i := range a.Shards {
		if i < 0 || i >= len(s.all) || s.all[i].busy {
			continue
		}
		st := &s.all[i]
		st.bottom = st.bottom || s.bottom // the rows may be below the mark
		if now.Before(st.restUntil) {
			st.wanted = true
			continue
		}
		st.busy = true
		s.queue = append(s.queue, i)
	}
}

// next returns the shard whose turn it is.
func (s *shards) next() (job, bool) {
	if len(s.queue) == 0 {
		return job{}, false
	}
	i := s.queue[0]
	if s.all[i].bottom {
		return job{i, 0}, true
	}
	return job{i, s.all[i].mark}, true
}

func (s *shards) started(j job) {
	s.queue = append(s.queue[:0], s.queue[1:]...)
	s.all[j.shard].bottom = false
}

// finished records the result of a visit, and queues the shard again if it has more.
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
	// After a full batch from the bottom, there may be rows between it and the mark.
	if o.More || o.Mark > st.mark {
		st.mark = o.Mark
	}
	if o.More && st.rest == 0 {
		s.plan(st, o, now)
		st.busy = true
		s.queue = append(s.queue, o.shard)
	}
}

// plan decides where the next batch of a shard with more rows begins. At most every other
// one begins at the bottom, so that its cost can be measured.
func (s *shards) plan(st *state, o outcome, now time.Time) {
	if o.after > 0 {
		st.usual = o.took
		st.bottom = !now.Before(st.bottomAt)
		return
	}
	cost := time.Duration(0)
	if st.usual > 0 {
		cost = o.took - st.usual
	}
	st.bottomAt = now.Add(s.bottomPause(cost))
}

// restAfter lets a shard rest, twice as long as the last time.
func (s *shards) restAfter(st *state, first, most time.Duration, now time.Time) {
	st.rest = min(max(2*st.rest, first), most)
	st.restUntil = now.Add(jitter(st.rest))
}

// bottomPause is the pause after a look at the bottom with that cost, so that all shards
// together spend a tenth of the workers' time there.
func (s *shards) bottomPause(cost time.Duration) time.Duration {
	share := max(1, float64(shard.Count-s.idle())/float64(s.o.Workers))
	return max(s.o.BottomEvery, min(time.Duration(slowBottom*share*float64(cost)), maxBottom))
}

// jitter changes d by up to a quarter, so that processes do not run in step.
func jitter(d time.Duration) time.Duration {
	return d - d/4 + time.Duration(rand.Int64N(int64(d/2)+1))
}
