package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
)

// source is a broker in memory that keeps a fixed number of messages in flight. It
// is a message.Subscriber for one subscription, and delivers nothing twice: a
// message that is given back is an error of the benchmark.
type source struct {
	inFlight int
	build    func(n uint64) *message.Message
	out      chan *message.Message
	ready    chan struct{} // closed when somebody has subscribed
	once     sync.Once

	next   atomic.Uint64 // the number of the next message
	nacked atomic.Int64
	closed atomic.Bool
}

func newSource(inFlight int, build func(n uint64) *message.Message) *source {
	return &source{inFlight: inFlight, build: build, out: make(chan *message.Message), ready: make(chan struct{})}
}

// Subscribe implements message.Subscriber. Its channel stays open: a closed one
// means that the broker has gone.
func (s *source) Subscribe(context.Context, string) (<-chan *message.Message, error) {
	if s.closed.Load() {
		return nil, errors.New("the source is closed")
	}
	s.once.Do(func() { close(s.ready) })
	return s.out, nil
}

// Close implements message.Subscriber.
func (s *source) Close() error {
	s.closed.Store(true)
	return nil
}

// feed hands over messages until there were most of them (0 means no bound) or ctx
// has ended, and returns how many when each has been acknowledged, with the time
// that each took in h. It waits for a subscriber first, and gives up when
// abandoned is closed.
func (s *source) feed(ctx context.Context, most int, h *histogram, abandoned <-chan struct{}) (int, error) {
	select {
	case <-s.ready:
	case <-abandoned:
		return 0, errAbandoned
	}
	var left, acked atomic.Int64
	if left.Store(int64(most)); most == 0 {
		left.Store(1 << 62)
	}
	var slots sync.WaitGroup
	for range s.inFlight {
		slots.Go(func() {
			for ctx.Err() == nil && left.Add(-1) >= 0 && s.deliver(h, abandoned) {
				acked.Add(1)
			}
		})
	}
	slots.Wait()
	select {
	case <-abandoned:
		return 0, errAbandoned
	default:
	}
	if n := s.nacked.Load(); n > 0 {
		return 0, fmt.Errorf("%d messages were given back to the source", n)
	}
	return int(acked.Load()), nil
}

// errAbandoned says that whoever consumed has ended.
var errAbandoned = errors.New("the consumer ended while the source had messages")

// deliver hands over one message and waits for its acknowledgement.
func (s *source) deliver(h *histogram, abandoned <-chan struct{}) bool {
	m := s.build(s.next.Add(1) - 1)
	select {
	case s.out <- m:
	case <-abandoned:
		return false
	}
	handed := time.Now()
	select {
	case <-m.Acked():
		h.add(time.Since(handed))
		return true
	case <-m.Nacked():
		s.nacked.Add(1)
	case <-abandoned:
	}
	return false
}

// delivered is how many messages were built, which is how many were handed over
// when no feed is under way.
func (s *source) delivered() int { return int(s.next.Load()) }

// load warms up and measures: feed by feed, so that what is measured begins and ends
// with nothing in flight.
func (l *lab) load(ctx context.Context, s *source, a amount, abandoned <-chan struct{}) (Figure, error) {
	warm := amount{time: a.time/5 + a.warm}
	if a.messages > 0 {
		warm = amount{messages: min(max(a.messages/5, 4*s.inFlight), 5000)}
	}
	var forget, h histogram
	if _, err := s.feedAmount(ctx, warm, &forget, abandoned); err != nil {
		return Figure{}, fmt.Errorf("warm up: %w", err)
	}
	watch := l.startWatch(ctx)
	n, err := s.feedAmount(ctx, a, &h, abandoned)
	if err != nil {
		return Figure{}, err
	}
	figure := watch.figure(ctx, n, &h)
	if ctx.Err() != nil {
		return Figure{}, context.Cause(ctx)
	}
	return figure, nil
}

func (s *source) feedAmount(ctx context.Context, a amount, h *histogram, abandoned <-chan struct{}) (int, error) {
	if a.messages > 0 {
		return s.feed(ctx, a.messages, h, abandoned)
	}
	ctx, cancel := context.WithTimeout(ctx, a.time)
	defer cancel()
	return s.feed(ctx, 0, h, abandoned)
}
