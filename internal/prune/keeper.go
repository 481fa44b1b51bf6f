package prune

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/outage"
	"github.com/headrace/headrace/internal/sleep"
)

// Keeper prunes one consumer's rows while it runs. Its fields are set before Run.
type Keeper struct {
	Pruner   inbox.Pruner
	Consumer string
	Plan     inbox.Plan
	// Look is how often it checks whether a round is due. Default: a minute.
	Look time.Duration
	// Logger logs finished rounds and failures; the next check continues after one.
	Logger *slog.Logger
	// Done is called with each finished round, and Looked after each check that did not fail,
	// both by Run's goroutine. May be nil.
	Done   func(inbox.Pruned)
	Looked func()
}

const (
	// lease is how long a process keeps a round without renewing it.
	lease = 2 * time.Minute
	// word is how often the process renews it.
	word = 10 * time.Second
	// share is the rest after a batch, as a multiple: a fifth of the time is work.
	share = 4
	// lastWord bounds the statement that releases the round at the end.
	lastWord = 5 * time.Second
)

// pause is the time from the end of a round to the next: rows are kept a few percent
// longer than necessary, and each is read only a few times.
func pause(window time.Duration) time.Duration {
	return min(max(window/24, time.Minute), 24*time.Hour)
}

// Run checks and prunes until ctx ends. It blocks; after the end of ctx it returns within
// the time of one batch and a last statement.
func (k *Keeper) Run(ctx context.Context) {
	look := cmp.Or(k.Look, time.Minute)
	part := outage.Part{Fails: "pruning failed; it is tried again", Works: "old messages are pruned again"}
	for ctx.Err() == nil {
		err := k.round(ctx)
		if part.Tell(ctx, k.Logger, err); err == nil && k.Looked != nil {
			k.Looked()
		}
		sleep.For(ctx, look)
	}
}

// round runs the consumer's round if it is due and no other process has it.
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
		if done.Next == position { // the position itself may be the mistake
			done.Next = ""
		}
		// After an error, wait for the whole lease.
		return errors.Join(err, k.Pruner.Keep(own, k.Consumer, done.Next, lease))
	case err != nil:
		return k.Pruner.Keep(own, k.Consumer, done.Next, 0)
	}
	if done.Messages+done.Letters > 0 {
		k.Logger.Info("pruned", "messages", done.Messages, "letters", done.Letters)
	}
	if k.Done != nil {
		k.Done(done)
	}
	return k.Pruner.Keep(own, k.Consumer, "", pause(k.Plan.Window))
}
