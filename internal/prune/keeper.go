package prune

import (
	"context"
	"errors"
	"time"

	"github.com/headrace/headrace/inbox"
)

// Keeper prunes for one consumer as long as it runs. Its fields are set before Run.
type Keeper struct {
	Pruner   inbox.Pruner
	Consumer string
	Plan     inbox.Plan
	// Look is how often it asks whether a round is due. Default: a minute.
	Look time.Duration
	// Done is told of each round that came to its end, Failed of each that did not; the
	// next one goes on. From Run's goroutine.
	Done   func(inbox.Pruned)
	Failed func(error)
}

const (
	// lease is how long a round is a process's without a word of it.
	lease = 2 * time.Minute
	// word is how often it gives one.
	word = 10 * time.Second
	// share is the rest after a batch: a fifth of the time is work.
	share = 4
	// lastWord bounds the statement that gives the round back at the end.
	lastWord = 5 * time.Second
)

// pause is the time from the end of a round to the next: rows are kept by a few
// hundredths longer than they must be, and each is read a few times in its life.
func pause(window time.Duration) time.Duration {
	return min(max(window/24, time.Minute), 24*time.Hour)
}

// Run looks and prunes until ctx ends. It blocks; it returns within the time of one
// batch and a last statement.
func (k *Keeper) Run(ctx context.Context) {
	look := k.Look
	if look == 0 {
		look = time.Minute
	}
	for ctx.Err() == nil {
		if err := k.round(ctx); err != nil && ctx.Err() == nil {
			k.Failed(err)
		}
		sleep(ctx, look)
	}
}

// round goes through the consumer's round if it is due and nobody else has it.
func (k *Keeper) round(ctx context.Context) error {
	position, due, err := k.Pruner.Take(ctx, k.Consumer, lease)
	if err != nil || !due {
		return err
	}
	last := time.Now()
	var kept error
	walk, stop := context.WithCancel(ctx)
	defer stop()
	done, err := Round(walk, k.Pruner, k.Plan, k.Consumer, position, Options{Rest: share, Progress: func(p inbox.Pruned) {
		if time.Since(last) < word || p.Next == "" {
			return
		}
		last = time.Now()
		if kept = k.Pruner.Keep(ctx, k.Consumer, p.Next, lease); kept != nil {
			stop()
		}
	}})
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWord)
	defer cancel()
	switch {
	case kept != nil:
		return kept
	case err != nil && ctx.Err() == nil:
		if done.Next == position { // it may be the place that is wrong
			done.Next = ""
		}
		// Nobody is in a hurry where something is wrong.
		return errors.Join(err, k.Pruner.Keep(own, k.Consumer, done.Next, lease))
	case err != nil:
		return k.Pruner.Keep(own, k.Consumer, done.Next, 0)
	}
	k.Done(done)
	return k.Pruner.Keep(own, k.Consumer, "", pause(k.Plan.Window))
}
