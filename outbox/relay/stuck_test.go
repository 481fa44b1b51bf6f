package relay_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/headrace/headrace/outbox/relay"
)

func sorted(ids []string) []string {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return ids
}

// hang makes the sink hold the messages of a topic until release.
func (b *bundle) hang(topic string) (release func()) {
	c := make(chan struct{})
	b.sink.mu.Lock()
	defer b.sink.mu.Unlock()
	b.sink.hold = func(t, _ string) <-chan struct{} {
		if t == topic {
			return c
		}
		return nil
	}
	return sync.OnceFunc(func() { close(c) })
}

// DESIGN §3 Relay: a publish that ignores its context is bounded from outside. Its
// row is put off and parked like any other; the calls that are left behind are
// bounded, and Run says how many there are.
//
//evidence:sink-away
func TestAStuckPublishIsLeftBehind(t *testing.T) {
	onEach(t, func(b *bundle) {
		release := b.hang("stuck")
		defer release()
		o := b.options()
		o.PublishTimeout = 50 * time.Millisecond
		o.StopTimeout = 50 * time.Millisecond
		o.MaxAttempts = 2
		r, err := relay.New(b.st, b.sink, o)
		if err != nil {
			b.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		b.publish(event("stuck", "", "stuck"))
		stop := b.company()
		b.until("the row is parked", func() bool { return b.status().Parked == 1 })
		stop()
		b.until("the others are published", func() bool { return total(b.status()) == 1 })
		if s, err := r.Status(context.Background()); err != nil || s.Stuck < 2 {
			b.Errorf("status %+v, %v: want two calls stuck", s, err)
		}
		cancel()
		if err := <-done; !errors.Is(err, relay.ErrStuck) {
			b.Errorf("Run with stuck calls: %v, want ErrStuck", err)
		}
		// Once they have returned, nothing is left behind any more (goleak).
		release()
		again, cancelled := context.WithCancel(context.Background())
		cancelled()
		if err := r.Run(again); err != nil {
			b.Errorf("Run after they returned: %v", err)
		}
	})
}

// A sink that hangs altogether is an outage: once MaxStuck calls are left behind
// there are no more.
//
//evidence:sink-away
func TestASinkThatHangs(t *testing.T) {
	onEach(t, func(b *bundle) {
		release := b.hang("t")
		defer release()
		o := b.options()
		o.PublishTimeout = 20 * time.Millisecond
		o.StopTimeout = 20 * time.Millisecond
		o.Concurrency = 2
		o.MaxStuck = 3
		o.MaxAttempts = 1
		r, stop := b.relay(b.st, o)
		b.publish(series("t", "", "e", 100)...)
		stuck := func() int64 {
			s, err := r.Status(context.Background())
			if err != nil {
				b.Fatal(err)
			}
			return s.Stuck
		}
		started := func() int64 { n, _ := b.sink.called(); return int64(n) }
		b.untilPolling("three calls are stuck", func() bool { return stuck() >= 3 && stuck() == started() && r.Stalled() })
		calls := started()
		// A few more tries, none of which reaches the sink.
		time.Sleep(500 * time.Millisecond) // nothing is to happen: there is no signal for that
		if now := started(); now != calls || stuck() > 6 {
			b.Errorf("%d calls more, %d stuck, want none more, and 3 and those that were under way", now-calls, stuck())
		}
		if s := b.status(); s.Ready != 100 {
			b.Errorf("status %+v, want all 100 where they were", s)
		}
		release()
		b.untilEmpty()
		stop()
	})
}

// untilPolling is until, for what no publish or commit tells of.
func (b *bundle) untilPolling(what string, cond func() bool) {
	b.Helper()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		ticker := time.NewTicker(10 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				b.board.note()
			case <-stop:
				return
			}
		}
	}()
	b.until(what, cond)
}

// Run lets a publish under way finish, whose context goes on meanwhile, and deletes
// its row: no repetition after a clean stop.
//
//evidence:stop
func TestStopFinishesWhatIsUnderWay(t *testing.T) {
	onEach(t, func(b *bundle) {
		release := b.hang("t")
		defer release()
		r, err := relay.New(b.st, b.sink, b.options())
		if err != nil {
			b.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		b.publish(event("t", "", "one"))
		b.untilPolling("it is being published", func() bool { calls, _ := b.sink.called(); return calls == 1 })
		cancel()
		if err := b.sink.context().Err(); err != nil {
			b.Errorf("the message's context ended with that of Run: %v", err)
		}
		release()
		if err := <-done; err != nil {
			b.Errorf("Run: %v", err)
		}
		if n := total(b.status()); n != 0 || b.sink.times("one") != 1 {
			b.Errorf("%d rows left, published %d times; want none and once", n, b.sink.times("one"))
		}
	})
}

// After StopTimeout the messages' context ends, and a Publisher that heeds it is not
// left behind. Its row stays.
func TestStopEndsTheContextOfWhatIsUnderWay(t *testing.T) {
	onEach(t, func(b *bundle) {
		defer b.hang("t")()
		b.sink.heeds = true
		o := b.options()
		o.StopTimeout = 20 * time.Millisecond
		_, stop := b.relay(b.st, o)
		b.publish(event("t", "", "one"))
		b.untilPolling("it is being published", func() bool { calls, _ := b.sink.called(); return calls == 1 })
		stop() // fails the test on ErrStuck
		if s := b.status(); s.Ready != 1 {
			b.Errorf("status %+v, want the row where it was", s)
		}
	})
}

func TestRunTwiceAtOnce(t *testing.T) {
	onEach(t, func(b *bundle) {
		r, _ := b.relay(b.st, b.options())
		b.publish(event("t", "", "one"))
		b.untilEmpty()
		if err := r.Run(context.Background()); !errors.Is(err, relay.ErrRunning) {
			b.Errorf("second Run: %v, want ErrRunning", err)
		}
	})
}
