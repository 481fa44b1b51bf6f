package brokertest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
)

// heartbeat: a process holds a message for three times as long as the broker waits for a
// sign of life. The broker must not give it to another one meanwhile (faults 54 and 57).
func heartbeat(s *bundle) {
	first, second := s.subscribe(s.source("")), s.subscribe(s.source(""))
	s.sendNumbers(1, 1)
	var m *message.Message
	var holder, other *raw
	select {
	case m = <-first.ch:
		holder, other = first, second
	case m = <-second.ch:
		holder, other = second, first
	case <-time.After(waitTimeout):
	}
	if m == nil {
		s.Fatal("no message comes")
	}
	timer := time.NewTimer(3 * s.f.Redelivery)
	defer timer.Stop()
	select {
	case <-holder.ch:
		s.Error("the message came again to the process that holds it")
	case <-other.ch:
		s.Error("the message came to another process too")
	case <-timer.C:
	}
	m.Ack()
	s.nothingLeft()
}

// nacks: a message that is nacked at once comes again, but only after a pause (TRAPS:
// 587,788 deliveries in a second).
func nacks(s *bundle) {
	least := s.f.LeastPause
	if least == 0 {
		least = 100 * time.Millisecond
	}
	r := s.subscribe(s.source(""))
	s.sendNumbers(1, 1)
	m := r.next()
	for range 4 {
		since := time.Now()
		m.Nack()
		m = r.next()
		if pause := time.Since(since); pause < least*9/10 {
			s.Errorf("it came again after %s, want %s at least", pause, least)
		}
	}
	m.Ack()
	s.nothingLeft()
}

// inFlight: the broker delivers as many messages as it allows before one of them is
// acknowledged, so that a group has several to commit.
func inFlight(s *bundle) {
	n := max(1, s.f.InFlight)
	s.sendNumbers(1, n)
	r := s.subscribe(s.source(""))
	seen := map[int]bool{}
	var held []*message.Message
	for len(seen) < n {
		m := r.next()
		seen[r.number(m)] = true
		held = append(held, m)
	}
	for i := range held { // the last first: the position must not pass earlier messages
		held[len(held)-1-i].Ack()
	}
	s.nothingLeft()
}

// ordered: the messages of a key come in the order in which they were sent.
func ordered(s *bundle) {
	const n = 50
	var records []Record
	for i := 1; i <= n; i++ {
		records = append(records, Record{Key: "k", Payload: bodyOf(i)})
	}
	s.send(records...)
	r := s.subscribe(s.source(""))
	for i := 1; i <= n; i++ {
		m := r.next()
		if got := r.number(m); got != i {
			s.Fatalf("message %d came at place %d", got, i)
		}
		m.Ack()
	}
	s.nothingLeft()
}

// paused: a paused source fetches nothing, and continues when it is resumed. A source
// that fetches and nacks delivers nothing either, but keeps the messages from other
// processes and uses up their deliveries. So the test counts the bytes that come from the
// broker.
func paused(s *bundle) {
	const n, size = 8, 32 << 10
	m := s.meter()
	source := s.source(m.listen.Addr().String())
	p, ok := source.(consumer.Pauser)
	if !ok {
		s.Fatalf("%T is no consumer.Pauser", source)
	}
	r := s.subscribe(source)
	s.sendNumbers(1, 1)
	r.next().Ack()
	s.nothingLeft()
	p.Pause(s.topic)
	p.Pause(s.topic)
	for m := r.within(3 * time.Second); m != nil; m = r.within(time.Second) {
		m.Nack() // it may have been on its way
	}
	before := m.came.Load()
	for i := range n {
		s.send(Record{Payload: fmt.Appendf(nil, `{"n":%d,"pad":"%s"}`, i+2, strings.Repeat("x", size))})
	}
	if m := r.within(3 * time.Second); m != nil {
		s.Errorf("message %d came during the pause", r.number(m))
		m.Nack()
	}
	if came := m.came.Load() - before; came > n*size/2 {
		s.Errorf("%d bytes came from the broker during the pause, where %d messages of %d bytes each are", came, n, size)
	} else {
		s.Logf("%d bytes came during the pause", came)
	}
	s.lagIs(source, n)
	p.Resume(s.topic)
	p.Resume(s.topic)
	for seen := map[int]bool{}; len(seen) < n; {
		m := r.next()
		seen[r.number(m)] = true
		m.Ack()
	}
	s.lagIs(source, 0)
	s.nothingLeft()
}

// lagIs waits until source says that this many messages wait at the broker.
func (s *bundle) lagIs(source message.Subscriber, want int64) {
	s.Helper()
	l, ok := source.(consumer.LagReporter)
	if !ok {
		s.Fatalf("%T is no consumer.LagReporter", source)
	}
	s.eventually(fmt.Sprintf("a lag of %d", want), func() (string, bool) {
		ctx, cancel := s.bounded()
		defer cancel()
		n, err := l.Lag(ctx, s.topic)
		if err == nil && n != want {
			time.Sleep(100 * time.Millisecond) // no signal says that a broker has counted
		}
		return fmt.Sprint(n, err), err == nil && n == want
	})
}

// stopped: a consumer that is stopped while a handler runs lets the handler finish,
// commits and acknowledges. The message does not run again (INVARIANTS 23).
func stopped(s *bundle) {
	entered, release := make(chan struct{}), make(chan struct{})
	s.sendNumbers(1, 1)
	w := s.work("", func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
		close(entered)
		select {
		case <-release:
		case <-ctx.Done():
			return ctx.Err()
		}
		return apply(ctx, tx, m)
	})
	select {
	case <-entered:
	case <-w.done:
		s.Fatalf("Run ended: %v", w.err)
	case <-time.After(waitTimeout):
		s.Fatal("the handler is not run")
	}
	w.stop()
	time.AfterFunc(300*time.Millisecond, func() { close(release) })
	w.halt()
	if n := s.count("SELECT count(*) FROM effects"); n != 1 {
		s.Errorf("%d effects after the stop", n)
	}
	next := s.work("", apply)
	s.sendNumbers(2, 5)
	s.appliedOnce(5)
	if n := next.c.Stats().Duplicates; n != 0 {
		s.Errorf("%d messages came again: the acknowledgement did not go out before the end", n)
	}
}
