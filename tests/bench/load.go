package main

import (
	"context"
	"fmt"
	"time"
)

// applied is how many messages have been applied since a consumer began, live or from
// its backlog.
type applied func() int

// load warms up and measures: feed by feed, so that what is measured begins and ends
// with nothing in flight.
func (l *lab) load(ctx context.Context, s *source, a amount, abandoned <-chan struct{}) (Figure, error) {
	return l.loadAll(ctx, s, a, nil, abandoned)
}

// loadAll is load with a clock that stops when all messages are applied, and not when
// they are acknowledged; nil makes no difference between the two.
func (l *lab) loadAll(ctx context.Context, s *source, a amount, done applied, abandoned <-chan struct{}) (Figure, error) {
	warm := amount{time: a.time/5 + a.warm}
	if a.messages > 0 {
		warm = amount{messages: min(max(a.messages/5, 4*s.inFlight), a.messages, 5000)}
	}
	var forget, h histogram
	if _, err := s.feedAmount(ctx, warm, &forget, abandoned); err != nil {
		return Figure{}, fmt.Errorf("warm up: %w", err)
	}
	if err := done.await(ctx, s.delivered(), abandoned); err != nil {
		return Figure{}, fmt.Errorf("warm up: %w", err)
	}
	watch := l.startWatch(ctx)
	n, err := s.feedAmount(ctx, a, &h, abandoned)
	if err != nil {
		return Figure{}, err
	}
	if err := done.await(ctx, s.delivered(), abandoned); err != nil {
		return Figure{}, err
	}
	figure := watch.figure(ctx, n, &h)
	if ctx.Err() != nil {
		return Figure{}, context.Cause(ctx)
	}
	return figure, nil
}

// look is the time between two looks at what has been applied. A look is free.
const look = time.Millisecond

// await waits until so many messages have been applied. It gives up where none is for a
// minute.
func (done applied) await(ctx context.Context, messages int, abandoned <-chan struct{}) error {
	if done == nil {
		return nil
	}
	tick := time.NewTicker(look)
	defer tick.Stop()
	most, since := done(), time.Now()
	for now := most; now < messages; now = done() {
		if now > most {
			most, since = now, time.Now()
		}
		if time.Since(since) > waitTimeout {
			return fmt.Errorf("of %d messages %d were applied, and none for %s", messages, now, waitTimeout)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-abandoned:
			return errAbandoned
		}
	}
	return nil
}

// within has the source hand over no more than size messages that are not applied yet,
// so that a backlog does not grow for as long as it is measured. The caller calls stop
// when the last feed has ended.
func (s *source) within(size int, done applied) (stop func()) {
	s.window = make(chan struct{}, size)
	for range size {
		s.window <- struct{}{}
	}
	stopping, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(look)
		defer tick.Stop()
		for given := 0; ; {
			select {
			case <-tick.C:
			case <-stopping:
				return
			}
			for now := done(); given < now; given++ {
				select {
				case s.window <- struct{}{}:
				case <-stopping:
					return
				}
			}
		}
	}()
	return func() {
		close(stopping)
		<-ended
	}
}

// admitted waits until the window has room for a message, and reports whether it has.
func (s *source) admitted(ctx context.Context, abandoned <-chan struct{}) bool {
	if s.window == nil {
		return true
	}
	select {
	case <-s.window:
		return true
	case <-ctx.Done():
	case <-abandoned:
	}
	return false
}
