package publish

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/internal/attempt"
	"github.com/headrace/headrace/internal/runner"
	"github.com/headrace/headrace/retry"
)

// ErrStuck matches the error of a call of Publish that did not return in time, and that
// of Wait if such calls remain.
var ErrStuck = errors.New("publish does not return")

// errFull is the error of a call that was not made, because too many are abandoned. It
// says nothing about the row.
var errFull = errors.New("too many calls of Publish do not return")

// stuckGrace is how much longer to wait for a call after its context has ended.
const stuckGrace = time.Second

// sink calls the Watermill Publisher, each call in its own goroutine, because Publish has
// no context: a call that does not return is abandoned and counted.
type sink struct {
	publisher message.Publisher
	timeout   time.Duration
	maxStuck  int64

	stuck     atomic.Int64  // abandoned calls that have not returned
	returned  chan struct{} // receives a value when one of them returns
	confirmed atomic.Int64  // rows, in total
	each      atomic.Int64  // approximate time of one message, in ns
	limit     atomic.Int64  // messages of one call: less after a failure, then more again
}

func newSink(p message.Publisher, timeout time.Duration, maxStuck int) *sink {
	s := &sink{publisher: p, timeout: timeout, maxStuck: int64(maxStuck), returned: make(chan struct{}, 1)}
	s.limit.Store(maxTogether)
	return s
}

// call is one call of Publish.
type call struct {
	done chan error
	// settled is set by the caller when it gives up, or by the call when it returns,
	// whichever is first.
	settled atomic.Bool
}

// publish calls Publish and waits until it returns, the timeout has passed, or stuckGrace
// after life, the messages' context, has ended.
func (s *sink) publish(life context.Context, topic string, msgs []*message.Message) error {
	if s.stuck.Load() >= s.maxStuck {
		return fmt.Errorf("%w (%d)", errFull, s.maxStuck)
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

// run reports through c.done, or is counted as stuck until it returns.
func (s *sink) run(c *call, topic string, msgs []*message.Message) {
	err := errExited
	defer func() { s.ran(c, err) }()
	p, failed := attempt.Catch(func() error { return s.publisher.Publish(topic, msgs...) })
	if p == nil {
		p = runner.Probe(failed)
	}
	if err = failed; p != nil {
		err = &retry.PanicError{Value: p.Value, Stack: p.Stack}
	}
}

func (s *sink) ran(c *call, err error) {
	c.done <- err
	if c.settled.Swap(true) {
		s.stuck.Add(-1)
		select {
		case s.returned <- struct{}{}:
		default:
		}
	}
}

// errExited is the error of a sink that ended its goroutine.
var errExited = errors.New("the sink called runtime.Goexit")

// leave abandons c, unless it has returned just now.
func (s *sink) leave(c *call, waited time.Duration) error {
	s.stuck.Add(1)
	if c.settled.Swap(true) {
		s.stuck.Add(-1)
		return <-c.done
	}
	return fmt.Errorf("%w within %s", ErrStuck, waited.Round(time.Millisecond))
}

// maxTogether bounds the messages of one call.
const maxTogether = 256

// learn records the result of a call. After a failure, fewer messages go together, so
// that a slow one is found soon even if each failing call takes its whole timeout.
func (s *sink) learn(messages int, took time.Duration, err error) {
	limit := s.limit.Load()
	switch {
	case err == nil:
		s.each.Store((s.each.Load() + int64(took)/int64(messages)) / 2)
		s.limit.Store(min(2*limit, maxTogether))
	case messages > 1:
		s.limit.Store(max(limit/4, 1))
	}
}

// together is how many messages to pass to one call, so that it takes at most an eighth
// of the timeout.
func (s *sink) together() int {
	limit := s.limit.Load()
	if each := s.each.Load(); each > 0 {
		limit = min(limit, int64(s.timeout)/8/each)
	}
	return int(max(limit, 1))
}

// wait waits for the abandoned calls, for at most d.
func (s *sink) wait(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for s.stuck.Load() > 0 {
		select {
		case <-s.returned:
		case <-timer.C:
			if n := s.stuck.Load(); n > 0 {
				return fmt.Errorf("%w: %d calls of %T have not returned", ErrStuck, n, s.publisher)
			}
		}
	}
	return nil
}
