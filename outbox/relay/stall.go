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

// stall records whether the sink confirms anything, and whether its broker is there. While it
// confirms nothing, the relay tries each shard after a pause, which grows.
type stall struct {
	o Options
	// reports is held while the hooks are called, so that their calls are in order.
	reports  sync.Mutex
	watchers map[*func(error)]bool // guarded by reports
	log      stallLog              // guarded by reports

	mu    sync.Mutex
	err   error // the sink's last refusal; nil if it has confirmed a row since
	away  error // what the sink says of its broker; nil if that is there
	well  bool  // the sink said that its broker is there after err
	waits error // why it may not publish; nil if it may
	last  string
	// refused and confirmed are how many rows the sink had confirmed in all when it gave err
	// or away, and when it last confirmed one.
	refused, confirmed int64
	shards             [shard.Count]struct {
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
func (s *stall) cause() error { return cmp.Or(s.waits, s.err, s.away) }

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
func (s *stall) leave(shard int, v publish.Result, now time.Time) {
	s.change(now, func() { s.learn(shard, v, now) })
}

// asked records what the sink says of its broker: nil, or why that takes nothing. total is
// how many rows it had confirmed before.
func (s *stall) asked(err error, total int64, now time.Time) {
	s.change(now, func() {
		if s.away, s.well = err, err == nil; err != nil {
			s.refused = max(s.refused, total)
			s.last = encode.Text(describe(err, s.o.Redact).Error, maxError)
		}
	})
}

// idle records that no row waits to be published: another process may have published those
// that the sink refused here. If the broker has answered since then, the stall is over.
func (s *stall) idle(now time.Time) {
	s.mu.Lock()
	over := s.err != nil && s.well
	s.mu.Unlock()
	if over { // seldom: the others need not wait for reports
		s.change(now, func() {
			if s.well {
				s.published()
			}
		})
	}
}

// change calls f, which changes the state, with mu held. It logs the change, and calls the
// hooks if the relay is stalled now and was not before, or the other way around.
func (s *stall) change(now time.Time, f func()) {
	s.reports.Lock()
	defer s.reports.Unlock()
	s.mu.Lock()
	was := s.cause()
	f()
	is, waits := s.cause(), s.waits
	s.mu.Unlock()
	if waits == nil {
		s.log.note(&s.o, was, is, now)
	}
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
		o.Logger.Error("relay: stalled: the sink confirms nothing or its broker is away; events wait, and none is delayed or parked",
			"error", encode.Text(f.Error, maxError), "error_type", f.Type, "error_fingerprint", f.Fingerprint, "stalls", l.stalls)
		*l = stallLog{said: true, at: now}
	case is == nil && l.said:
		o.Logger.Info("relay: no longer stalled")
		l.said = false
	}
}

// learn records the result of a batch. Batches end in another order than the sink has
// answered them: the number of rows that it had confirmed says which answer is newer. The
// caller holds mu.
func (s *stall) learn(i int, v publish.Result, now time.Time) {
	if v.Refusal != nil {
		s.last = encode.Text(describe(v.Refusal, s.o.Redact).Error, maxError)
	}
	switch {
	case v.Confirmed > 0 && (s.err == nil && s.away == nil || v.Total > s.refused):
		s.confirmed = max(s.confirmed, v.Total)
		s.published()
	case v.Outage && v.Total >= s.confirmed:
		s.err, s.refused, s.well = v.Refusal, max(s.refused, v.Total), false
		at := &s.shards[i]
		at.pause = min(max(2*at.pause, firstStall), mostStall)
		at.tryAt = now.Add(at.pause)
	}
}

// published ends the stall. The caller holds mu.
func (s *stall) published() {
	s.err, s.away = nil, nil
	clear(s.shards[:])
}

// wait records why the relay may not publish, or nil when it may.
func (s *stall) wait(why error) {
	s.change(time.Now(), func() {
		waited := s.waits
		s.waits = why
		switch {
		case errors.Is(why, outbox.ErrOwned) && waited == nil:
			s.o.Logger.Error("relay: publishes nothing", "error", why)
		case why != nil && waited == nil:
			s.o.Logger.Error("relay: waits until the relays with another sink have ended; give outboxes names if two services share the database", "error", why)
		case why == nil && waited != nil:
			s.o.Logger.Info("relay: the relays with another sink have ended, and this one publishes")
		}
	})
}
