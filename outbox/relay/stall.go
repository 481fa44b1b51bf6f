package relay

import (
	"log/slog"
	"sync"
	"time"

	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/shard"
)

// The pause between two tries of a shard while the relay is stalled.
const (
	firstStall = 100 * time.Millisecond
	mostStall  = 5 * time.Second
)

// maxError bounds the sink's words where they are kept.
const maxError = 1024

// stall knows whether the sink confirms anything. While it does not, each shard is
// tried after a pause of its own, which grows.
type stall struct {
	o Options
	// reports is held while the hooks are told, so that they hear in order.
	reports  sync.Mutex
	watchers map[*watcher]bool // guarded by reports
	log      stallLog          // guarded by reports

	mu     sync.Mutex
	err    error // why it is stalled; nil if it is not
	last   string
	shards [shard.Count]struct {
		pause time.Duration
		tryAt time.Time
	}
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

// choose returns which of the shards that have work to visit now, and how long
// until the next of the others may be; 0 if there are none.
func (s *stall) choose(shards []int, now time.Time) (chosen []int, next time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		return shards, 0
	}
	for _, i := range shards {
		wait := s.shards[i].tryAt.Sub(now)
		if wait <= 0 {
			chosen = append(chosen, i)
		} else if next == 0 || wait < next {
			next = wait
		}
	}
	return chosen, next
}

// enter reports whether a batch of the shard may begin, and whether it shall only
// try out the sink.
func (s *stall) enter(shard int, now time.Time) (probe, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		return false, true
	}
	return true, !now.Before(s.shards[shard].tryAt)
}

// leave is told what a batch found.
func (s *stall) leave(shard int, v verdict, now time.Time) {
	s.reports.Lock()
	defer s.reports.Unlock()
	was, is := s.learn(shard, v, now)
	s.log.note(s.o.Logger, was, is, now)
	if (was == nil) != (is == nil) {
		s.tell(is)
	}
}

// logEvery bounds the lines of a sink that fails now and then.
const logEvery = 10 * time.Second

// stallLog logs that the relay stalls and goes on: each stall of logEvery at once where
// it is the first, else the next one, or what lasts of it.
type stallLog struct {
	said   bool      // the last line says that it is stalled
	at     time.Time // of the last such line
	stalls int       // since then
}

func (l *stallLog) note(logger *slog.Logger, was, is error, now time.Time) {
	if was == nil && is != nil {
		l.stalls++
	}
	switch {
	case is != nil && !l.said && now.Sub(l.at) >= logEvery:
		f := describe(is)
		logger.Error("relay: stalled, the sink confirms nothing; nothing is put off or parked",
			"error_type", f.Type, "error_print", f.Print, "stalls", l.stalls)
		*l = stallLog{said: true, at: now}
	case is == nil && l.said:
		logger.Info("relay: the sink confirms again")
		l.said = false
	}
}

// learn returns why the relay was stalled before the batch and is after it.
func (s *stall) learn(i int, v verdict, now time.Time) (was, is error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was = s.err
	if v.refusal != nil {
		s.last = encode.Text(describe(v.refusal).Error, maxError)
	}
	switch {
	case v.confirmed > 0:
		s.err = nil
		clear(s.shards[:])
	case v.outage:
		s.err = v.refusal
		at := &s.shards[i]
		at.pause = min(max(2*at.pause, firstStall), mostStall)
		at.tryAt = now.Add(at.pause)
	}
	return was, s.err
}
