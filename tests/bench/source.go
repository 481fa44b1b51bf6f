package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
)

// source is a broker in memory that keeps a fixed number of messages in flight. It
// is a message.Subscriber for one subscription of each of its topics, and delivers
// nothing twice: a message that is given back is an error of the benchmark.
type source struct {
	inFlight int
	build    func(n uint64) *message.Message
	topics   []string // which have the messages in turn; none for a single one of any name
	outs     []chan *message.Message
	once     []sync.Once
	missing  atomic.Int64  // topics without a subscription
	ready    chan struct{} // closed when there are none
	// window holds a token for each message that may still be handed over; nil where
	// nothing but inFlight bounds them. See within.
	window chan struct{}

	next   atomic.Uint64 // the number of the next message
	nacked atomic.Int64
	closed atomic.Bool
}

func newSource(inFlight int, build func(n uint64) *message.Message, topics ...string) *source {
	s := &source{inFlight: inFlight, build: build, topics: topics, ready: make(chan struct{})}
	s.outs = make([]chan *message.Message, max(len(topics), 1))
	for i := range s.outs {
		s.outs[i] = make(chan *message.Message)
	}
	s.once = make([]sync.Once, len(s.outs))
	s.missing.Store(int64(len(s.outs)))
	return s
}

// Subscribe implements message.Subscriber. Its channel stays open: a closed one
// means that the broker has gone.
func (s *source) Subscribe(_ context.Context, topic string) (<-chan *message.Message, error) {
	if s.closed.Load() {
		return nil, errors.New("the source is closed")
	}
	i := 0
	if len(s.topics) > 0 {
		if i = slices.Index(s.topics, topic); i < 0 {
			return nil, fmt.Errorf("the source has no topic %q", topic)
		}
	}
	s.once[i].Do(func() {
		if s.missing.Add(-1) == 0 {
			close(s.ready)
		}
	})
	return s.outs[i], nil
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
			for ctx.Err() == nil && left.Add(-1) >= 0 && s.admitted(ctx, abandoned) && s.deliver(h, abandoned) {
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

// errAbandoned says that the consumer has ended.
var errAbandoned = errors.New("the consumer ended while the source had messages")

// deliver hands over one message and waits for its acknowledgement.
func (s *source) deliver(h *histogram, abandoned <-chan struct{}) bool {
	n := s.next.Add(1) - 1
	m := s.build(n)
	select {
	case s.outs[n%uint64(len(s.outs))] <- m:
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

func (s *source) feedAmount(ctx context.Context, a amount, h *histogram, abandoned <-chan struct{}) (int, error) {
	if a.messages > 0 {
		return s.feed(ctx, a.messages, h, abandoned)
	}
	ctx, cancel := context.WithTimeout(ctx, a.time)
	defer cancel()
	return s.feed(ctx, 0, h, abandoned)
}
