package relay

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/retry"
)

// ErrStuck matches the error of a call of Publish that did not return in time, and
// that of Run when such calls are left at its end.
var ErrStuck = errors.New("publish does not return")

// errFull is the refusal to leave one more call behind. It says nothing about the
// row.
var errFull = errors.New("too many calls of Publish do not return")

// sink calls the Publisher, each call on a goroutine of its own, because Publish
// has no context: one that does not return is left behind and counted.
type sink struct {
	publisher message.Publisher
	timeout   time.Duration
	most      int64

	stuck     atomic.Int64  // calls left behind that have not returned
	returned  chan struct{} // told when one of them does
	confirmed atomic.Int64  // rows, ever
	each      atomic.Int64  // about how long one message takes, in ns
	limit     atomic.Int64  // messages of one call: less after a failure, then more again
}

func newSink(p message.Publisher, o Options) *sink {
	s := &sink{publisher: p, timeout: o.PublishTimeout, most: int64(o.MaxStuck), returned: make(chan struct{}, 1)}
	s.limit.Store(mostAtOnce)
	return s
}

// call is one call of Publish.
type call struct {
	done chan error
	// settled is set by the caller that leaves, or by the call that returns,
	// whichever is first.
	settled atomic.Bool
}

// publish calls Publish and waits until it returns, PublishTimeout has passed, or a
// moment after life, the messages' context, has ended.
func (s *sink) publish(life context.Context, topic string, msgs []*message.Message) error {
	if s.stuck.Load() >= s.most {
		return fmt.Errorf("%w (%d)", errFull, s.most)
	}
	start := time.Now()
	c := &call{done: make(chan error, 1)}
	go s.run(c, topic, msgs)
	timer := time.NewTimer(s.timeout)
	defer timer.Stop()
	ended := life.Done()
	for {
		select {
		case err := <-c.done:
			s.learn(len(msgs), time.Since(start), err)
			return err
		case <-ended:
			ended = nil
			timer.Reset(stuckGrace)
		case <-timer.C:
			err := s.leave(c, time.Since(start))
			s.learn(len(msgs), time.Since(start), err)
			return err
		}
	}
}

// run is joined through c.done, or counted as stuck until it returns.
func (s *sink) run(c *call, topic string, msgs []*message.Message) {
	err := s.guarded(topic, msgs)
	c.done <- err
	if c.settled.Swap(true) {
		s.stuck.Add(-1)
		select {
		case s.returned <- struct{}{}:
		default:
		}
	}
}

func (s *sink) guarded(topic string, msgs []*message.Message) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &retry.PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return s.publisher.Publish(topic, msgs...)
}

// leave leaves c behind, unless it has returned just now.
func (s *sink) leave(c *call, waited time.Duration) error {
	s.stuck.Add(1)
	if c.settled.Swap(true) {
		s.stuck.Add(-1)
		return <-c.done
	}
	return fmt.Errorf("%w within %s", ErrStuck, waited.Round(time.Millisecond))
}

// mostAtOnce bounds the messages of one call.
const mostAtOnce = 256

// learn is told how a call went. After a failure fewer messages go together, so
// that a slow one is found soon even where each failing call takes a whole round.
func (s *sink) learn(messages int, took time.Duration, err error) {
	limit := s.limit.Load()
	switch {
	case err == nil:
		s.each.Store((s.each.Load() + int64(took)/int64(messages)) / 2)
		s.limit.Store(min(2*limit, mostAtOnce))
	case messages > 1:
		s.limit.Store(max(limit/4, 1))
	}
}

// atOnce is how many messages to give to one call, so that it takes an eighth of
// PublishTimeout at most.
func (s *sink) atOnce() int {
	limit := s.limit.Load()
	if each := s.each.Load(); each > 0 {
		limit = min(limit, int64(s.timeout)/8/each)
	}
	return int(max(limit, 1))
}

// wait waits for the calls that were left behind, for at most d.
func (s *sink) wait(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for s.stuck.Load() > 0 {
		select {
		case <-s.returned:
		case <-timer.C:
			if n := s.stuck.Load(); n > 0 {
				return fmt.Errorf("relay: %w: %d calls of %T are left behind", ErrStuck, n, s.publisher)
			}
		}
	}
	return nil
}
