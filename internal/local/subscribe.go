package local

import (
	"context"
	"slices"
	"time"

	"github.com/headrace/headrace/internal/outage"
	"github.com/headrace/headrace/internal/sleep"
)

const (
	// beatEvery is the time between two records that the handlers are there, and in the
	// long run between two sweeps. firstSweep is the pause before the second sweep; each
	// pause is twice as long as the one before, since most transactions are short.
	beatEvery  = 30 * time.Second
	firstSweep = 250 * time.Millisecond
	// retryEvery is the pause after a first subscription that failed, and beatTime bounds
	// the statements of one try.
	retryEvery = time.Second
	beatTime   = 10 * time.Second
	// lookAfter is how long a process with the sink may take to start, before the outbox
	// counts as unpublished.
	lookAfter = 3 * time.Second
)

// subscribe records the subscriptions, and takes the events that waited for them. It tries
// until it succeeds, and reports false if ctx ended.
func (l *Line) subscribe(ctx context.Context) bool {
	part := outage.Part{Fails: "the subscriptions of local handlers cannot be recorded; trying again"}
	for {
		err := l.record(ctx, l.o.Beside)
		if err == nil {
			err = l.sweep(ctx)
		}
		if part.Tell(ctx, l.o.Logger, err); err == nil {
			return true
		}
		if !sleep.For(ctx, retryEvery) {
			return false
		}
	}
}

// beat records the subscriptions again, and takes the events of publishers that did not see
// them yet and have committed since, until ctx ends.
func (l *Line) beat(ctx context.Context) {
	began := time.Now()
	part := outage.Part{Fails: "the subscriptions of local handlers cannot be renewed; trying again"}
	recorded := began
	for pause := firstSweep; sleep.For(ctx, pause); pause = min(2*pause, beatEvery) {
		var err error
		if time.Since(recorded) >= beatEvery {
			if err = l.record(ctx, nil); err == nil {
				recorded = time.Now()
			}
		}
		if err == nil {
			err = l.sweep(ctx)
		}
		if err == nil && time.Since(began) >= lookAfter {
			err = l.look(ctx)
		}
		part.Tell(ctx, l.o.Logger, err)
	}
}

// look logs local events that no handler takes, and events that wait in the outbox, if no process publishes it.
func (l *Line) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, beatTime)
	defer cancel()
	if err := l.o.Stranded.Unclaimed(ctx, l.o.Logger, l.o.Subscriptions, l.o.Store.Outbox()); err != nil || l.o.Sink {
		return err
	}
	return l.o.Stranded.Unpublished(ctx, l.o.Logger, l.o.Store.Outbox(), l.topics)
}

// record records the subscriptions of the consumer, and of those beside it.
func (l *Line) record(ctx context.Context, beside map[string][]string) error {
	ctx, cancel := context.WithTimeout(ctx, beatTime)
	defer cancel()
	topics := map[string][]string{l.o.Consumer: l.topics}
	for consumer, more := range beside {
		topics[consumer] = slices.Concat(topics[consumer], more)
	}
	return l.o.Subscriptions.Subscribe(ctx, topics)
}

// sweep takes the events of the line outbox.Unclaimed that are subscribed to by now.
func (l *Line) sweep(ctx context.Context) error {
	for moved := 1; moved > 0; {
		bounded, cancel := context.WithTimeout(ctx, beatTime)
		n, err := l.o.Subscriptions.Sweep(bounded)
		cancel()
		if err != nil {
			return err
		}
		if moved = n; moved > 0 {
			l.o.Store.Outbox().Signal().Wake() // they may be for any consumer
		}
	}
	return nil
}
