package relay_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/headrace/headrace/outbox/relay"
)

var errAway = errors.New("the broker is away")

// askedSink is a sink that says of its broker what the test sets.
type askedSink struct {
	*fakeSink
	away  atomic.Bool
	asked atomic.Int64
}

func (s *askedSink) Healthy(context.Context) error {
	defer s.board.note()
	s.asked.Add(1)
	if s.away.Load() {
		return errAway
	}
	return nil
}

// runs runs a relay on st to sink until the test ends. stalled says what OnStalled was told last.
func (b *bundle) runs(st relay.Store, sink *askedSink) (r *relay.Relay, stalled func() error) {
	b.Helper()
	var last atomic.Pointer[error]
	o := b.options()
	o.OnStalled = func(err error) { last.Store(&err); b.board.note() }
	r, err := relay.New(st, sink, o)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			b.Errorf("Run: %v", err)
		}
	})
	return r, func() error {
		if err := last.Load(); err != nil {
			return *err
		}
		return nil
	}
}

// DESIGN §8: a broker that is away is told of though no event waits, and so is its return.
//
//evidence:sink-away
func TestTheBrokerIsAwayWhileNothingIsPublished(t *testing.T) {
	t.Parallel()
	b := setup(t, sqliteDB(t))
	sink := &askedSink{fakeSink: b.sink}
	r, stalled := b.runs(b.st, sink)
	b.until("the sink is asked", func() bool { return sink.asked.Load() > 0 })
	if r.Stalled() {
		t.Error("stalled though the broker is there")
	}
	sink.away.Store(true)
	b.until("the relay is stalled", func() bool { return r.Stalled() && errors.Is(stalled(), errAway) })
	if s, err := r.Status(t.Context()); err != nil || !s.Stalled || s.LastError != errAway.Error() {
		t.Errorf("status %+v, %v", s, err)
	}
	b.publish(event("t", "", "one")) // the sink takes it all the same: it knows better
	b.untilEmpty()
	b.until("the relay goes on", func() bool { return !r.Stalled() && stalled() == nil })
	b.until("the relay is stalled again", func() bool { return r.Stalled() })
	sink.away.Store(false)
	b.until("the relay goes on without an event", func() bool { return !r.Stalled() && stalled() == nil })
}

// The events that one process could not publish were published by another: nothing waits
// that could end the stall of the first.
//
//evidence:sink-away
func TestAnotherProcessPublishesWhatWasRefused(t *testing.T) {
	onEach(t, func(b *bundle) {
		first := &askedSink{fakeSink: &fakeSink{board: b.board, refuse: everything}}
		first.away.Store(true)
		r, stalled := b.runs(b.st, first)
		b.publish(event("t", "", "one"))
		b.until("the first is stalled", func() bool { return errors.Is(stalled(), errRefused) })
		b.runs(&watched{realStore: b.open(b.TB), board: b.board}, &askedSink{fakeSink: b.sink})
		b.untilEmpty()
		asked := first.asked.Load()
		b.until("the first asks in vain", func() bool { return first.asked.Load() > asked+1 })
		if !r.Stalled() {
			b.Error("the first goes on though its broker is away")
		}
		first.away.Store(false)
		b.until("the first goes on", func() bool { return !r.Stalled() && stalled() == nil })
	})
}
