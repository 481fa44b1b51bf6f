package relay

import (
	"sync"
	"time"

	"github.com/headrace/headrace/internal/encode"
)

// The pause between two tries of a stalled relay.
const (
	firstStall = 100 * time.Millisecond
	mostStall  = 5 * time.Second
)

// maxError bounds the sink's error where it is kept.
const maxError = 1024

// stall knows whether the sink confirms anything, and lets one batch at a time
// through while it does not.
type stall struct {
	o Options
	// reports is held while the hooks are told, so that they hear in order.
	reports sync.Mutex

	mu      sync.Mutex
	err     error // why it is stalled; nil if it is not
	last    string
	pause   time.Duration
	tryAt   time.Time
	probing bool
	turn    int // the shard to try next
}

func newStall(o Options) *stall { return &stall{o: o} }

// verdict is what a batch says about the sink.
type verdict struct {
	confirmed int   // rows
	refusal   error // the last one; nil if there was none
	outage    bool  // something was refused, and nothing confirmed
}

func (s *stall) reason() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *stall) lastError() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// wait is how long nothing is to be tried.
func (s *stall) wait(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		return 0
	}
	return s.tryAt.Sub(now)
}

// choose returns which of the shards that have work to visit: all, or the next one
// while the relay is stalled.
func (s *stall) choose(shards []int) []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil || len(shards) == 0 {
		return shards
	}
	chosen := shards[0]
	for _, i := range shards {
		if i >= s.turn {
			chosen = i
			break
		}
	}
	s.turn = chosen + 1
	return []int{chosen}
}

// enter reports whether a batch may begin, and whether it is the one that tries
// out the sink. Whoever entered leaves.
func (s *stall) enter(now time.Time) (probe, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		return false, true
	}
	if s.probing || now.Before(s.tryAt) {
		return false, false
	}
	s.probing = true
	return true, true
}

// leave is told what a batch found.
func (s *stall) leave(probe bool, v verdict, now time.Time) {
	s.reports.Lock()
	defer s.reports.Unlock()
	was, is := s.learn(probe, v, now)
	switch {
	case was == nil && is != nil:
		s.o.Logger.Error("relay: stalled, the sink confirms nothing; nothing is put off or parked",
			"error", encode.Text(is.Error(), maxError))
		s.o.OnStalled(is)
	case was != nil && is == nil:
		s.o.Logger.Info("relay: the sink confirms again")
		s.o.OnStalled(nil)
	}
}

// learn returns why the relay was stalled before the batch and is after it.
func (s *stall) learn(probe bool, v verdict, now time.Time) (was, is error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was = s.err
	if probe {
		s.probing = false
	}
	if v.refusal != nil {
		s.last = encode.Text(v.refusal.Error(), maxError)
	}
	switch {
	case v.confirmed > 0:
		s.err, s.pause = nil, 0
	case v.outage && (probe || s.err == nil):
		s.err = v.refusal
		s.pause = min(max(2*s.pause, firstStall), mostStall)
		s.tryAt = now.Add(s.pause)
	}
	return was, s.err
}
