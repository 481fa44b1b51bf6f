package relay

import (
	"cmp"
	"errors"
	"sync"
	"time"

	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/publish"
	"github.com/headrace/headrace/internal/shard"
	"github.com/headrace/headrace/outbox"
)

// The pause between two tries of a shard while the relay is stalled.
const (
	firstStall = 100 * time.Millisecond
	mostStall  = 5 * time.Second
)

// maxError bounds the length of a stored sink error, in bytes.
const maxError = 1024

// stall records whether the sink confirms anything. While it does not, the relay tries
// each shard after a pause, which grows.
type stall struct {
	o Options
	// reports is held while the hooks are called, so that their calls are in order.
	reports  sync.Mutex
	watchers map[*func(error)]bool // guarded by reports
	log      stallLog              // guarded by reports

	mu     sync.Mutex
	err    error // why it is stalled; nil if it is not
	waits  error // why it may not publish; nil if it may
	last   string
	shards [shard.Count]struct {
		pause time.Duration
		tryAt time.Time
	}
}

func newStall(o Options) *stall { return &stall{o: o} }

func (s *stall) reason() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cause()
}

// cause returns why nothing is published, or nil. The caller holds mu.
func (s *stall) cause() error { return cmp.Or(s.waits, s.err) }

func (s *stall) lastError() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// choose returns which of the shards that have work to visit now, and how long until the
// next of the others may be visited; 0 if there are none.
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

// enter reports whether a batch of the shard may begin, and whether it is only a probe of
// the sink.
func (s *stall) enter(shard int, now time.Time) (probe, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		return false, true
	}
	return true, !now.Before(s.shards[shard].tryAt)
}

// leave records the result of a batch.
func (s *stall) leave(shard int, v publish.Verdict, now time.Time) {
	s.reports.Lock()
	defer s.reports.Unlock()
	was, is := s.learn(shard, v, now)
	s.log.note(&s.o, was, is, now)
	if (was == nil) != (is == nil) {
		s.tell(is)
	}
}

// logEvery is the least time between two logged stalls.
const logEvery = 10 * time.Second

// stallLog logs when the relay stalls and goes on. It logs a stall at once if the last
// logged one is logEvery ago; otherwise the next stall, or this one if it still lasts
// then.
type stallLog struct {
	said   bool      // the last line said that it is stalled
	at     time.Time // of the last such line
	stalls int       // since then
}

func (l *stallLog) note(o *Options, was, is error, now time.Time) {
	if was == nil && is != nil {
		l.stalls++
	}
	switch {
	case is != nil && !l.said && now.Sub(l.at) >= logEvery:
		f := describe(is, o.Redact)
		o.Logger.Error("relay: stalled, the sink confirms nothing; nothing is put off or parked",
			"error", encode.Text(f.Error, maxError), "error_type", f.Type, "error_fingerprint", f.Fingerprint, "stalls", l.stalls)
		*l = stallLog{said: true, at: now}
	case is == nil && l.said:
		o.Logger.Info("relay: the sink confirms again")
		l.said = false
	}
}

// learn records the result, and returns why the relay was stalled before the batch and is
// after it.
func (s *stall) learn(i int, v publish.Verdict, now time.Time) (was, is error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was = s.cause()
	if v.Refusal != nil {
		s.last = encode.Text(describe(v.Refusal, s.o.Redact).Error, maxError)
	}
	switch {
	case v.Confirmed > 0:
		s.err = nil
		clear(s.shards[:])
	case v.Outage:
		s.err = v.Refusal
		at := &s.shards[i]
		at.pause = min(max(2*at.pause, firstStall), mostStall)
		at.tryAt = now.Add(at.pause)
	}
	return was, s.cause()
}

// wait records why the relay may not publish, or nil when it may.
func (s *stall) wait(why error) {
	s.reports.Lock()
	defer s.reports.Unlock()
	s.mu.Lock()
	was, waited := s.cause(), s.waits
	s.waits = why
	is := s.cause()
	s.mu.Unlock()
	switch {
	case errors.Is(why, outbox.ErrOwned) && waited == nil:
		s.o.Logger.Error("relay: publishes nothing", "error", why)
	case why != nil && waited == nil:
		s.o.Logger.Error("relay: waits until the relays with another sink have ended; give outboxes names if two services share the database", "error", why)
	case why == nil && waited != nil:
		s.o.Logger.Info("relay: the relays with another sink have ended, and this one publishes")
	}
	if (was == nil) != (is == nil) {
		s.tell(is)
	}
}
