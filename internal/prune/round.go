package prune

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/headrace/headrace/inbox"
)

// Options say how a round goes on.
type Options struct {
	// Limit is the most messages, or letters, that one batch removes. Default 1000.
	Limit int
	// Rest is how long a round rests after a batch, as a multiple of the time that the
	// batch took; 2 ms at least. Default 0: no longer than that.
	Rest int
	// Progress is told after each batch what went so far, and where the round stands.
	// May be nil.
	Progress func(done inbox.Pruned)
}

// defaultLimit keeps a batch at about ten milliseconds.
const defaultLimit = 1000

// leastRest lets the writers of other processes in: SQLite's lock is not fair.
const leastRest = 2 * time.Millisecond

// longestRest bounds what one slow batch costs.
const longestRest = 5 * time.Second

// The halves of a round, as its position begins.
const (
	messages = "messages "
	letters  = "letters "
)

// Round removes what plan lets go of consumer ("" for all), from position on ("" is the
// start). It returns what went, and in Next where it stood when it ended early: by an
// error, or with ctx. It blocks until the walk has come to its end.
func Round(ctx context.Context, p inbox.Pruner, plan inbox.Plan, consumer, position string, o Options) (inbox.Pruned, error) {
	if o.Limit == 0 {
		o.Limit = defaultLimit
	}
	total := inbox.Pruned{Next: position}
	if total.Next == "" {
		total.Next = messages
	}
	for total.Next != "" {
		if err := ctx.Err(); err != nil {
			return total, fmt.Errorf("prune: %w", err)
		}
		start := time.Now()
		done, err := within(ctx, p, inbox.PruneRequest{Plan: plan, Consumer: consumer, From: total.Next, Limit: o.Limit})
		if err != nil {
			return total, fmt.Errorf("prune: %w", err)
		}
		total.Messages, total.Letters, total.Next = total.Messages+done.Messages, total.Letters+done.Letters, done.Next
		if o.Progress != nil {
			o.Progress(total)
		}
		if total.Next != "" {
			sleep(ctx, min(max(time.Duration(o.Rest)*time.Since(start), leastRest), longestRest))
		}
	}
	return total, nil
}

// batchTime bounds one batch, so that a connection that was cut holds up nobody for good.
const batchTime = 2 * time.Minute

func within(ctx context.Context, p inbox.Pruner, r inbox.PruneRequest) (inbox.Pruned, error) {
	ctx, cancel := context.WithTimeout(ctx, batchTime)
	defer cancel()
	return batch(ctx, p, r)
}

// batch removes a batch of the half that the request's position names.
func batch(ctx context.Context, p inbox.Pruner, r inbox.PruneRequest) (inbox.Pruned, error) {
	if from, ok := strings.CutPrefix(r.From, messages); ok {
		r.From = from
		done, err := p.Messages(ctx, r)
		if done.Next == "" {
			done.Next = letters
		} else {
			done.Next = messages + done.Next
		}
		return done, err
	}
	from, ok := strings.CutPrefix(r.From, letters)
	if !ok {
		return inbox.Pruned{}, fmt.Errorf("%q is no position of a round", r.From)
	}
	r.From = from
	done, err := p.Letters(ctx, r)
	if done.Next != "" {
		done.Next = letters + done.Next
	}
	return done, err
}

// sleep waits for d or the end of ctx.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
