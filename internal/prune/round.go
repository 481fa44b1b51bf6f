package prune

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/sleep"
)

// Options configure a round.
type Options struct {
	// Limit is the most messages, or letters, that one batch removes. Default 1000.
	Limit int
	// Rest is how long a round rests after a batch, as a multiple of the batch's time; at
	// least 2 ms. Default 0: only the 2 ms.
	Rest int
	// Progress is called after each batch with the totals so far and the position. May be
	// nil.
	Progress func(done inbox.Pruned)
}

// defaultLimit keeps a batch at about ten milliseconds.
const defaultLimit = 1000

// leastRest lets other processes write: SQLite's lock is not fair.
const leastRest = 2 * time.Millisecond

// longestRest bounds the rest after a slow batch.
const longestRest = 5 * time.Second

// The parts of a round. Its position is one of them, a space and the place within it.
const (
	messages = "messages"
	letters  = "letters"
	expired  = "expired"
)

// Round removes the rows of consumer ("" for all) that plan allows, from position on (""
// is the start). It returns how many, and in Next the position if it ended early: by an
// error, or with ctx. It blocks until the walk has ended.
func Round(ctx context.Context, p inbox.Pruner, plan inbox.Plan, consumer, position string, o Options) (inbox.Pruned, error) {
	limit := cmp.Or(o.Limit, defaultLimit)
	total := inbox.Pruned{Next: cmp.Or(position, messages+" ")}
	var cut time.Time
	for total.Next != "" {
		if err := ctx.Err(); err != nil {
			return total, fmt.Errorf("prune: %w", err)
		}
		start := time.Now()
		if start.Sub(cut) > cutAhead/2 {
			if err := record(ctx, p, plan, consumer); err != nil {
				return total, fmt.Errorf("prune: %w", err)
			}
			cut = start
		}
		done, err := batch(ctx, p, inbox.PruneRequest{Plan: plan, Consumer: consumer, From: total.Next, Limit: limit})
		if err != nil {
			return total, fmt.Errorf("prune: %w", err)
		}
		total.Messages, total.Letters, total.Next = total.Messages+done.Messages, total.Letters+done.Letters, done.Next
		if o.Progress != nil {
			o.Progress(total)
		}
		if total.Next != "" {
			sleep.For(ctx, min(max(time.Duration(o.Rest)*time.Since(start), leastRest), longestRest))
		}
	}
	return total, nil
}

// cutAhead is how far ahead of the age the cut is recorded, so that not every batch writes it.
const cutAhead = 10 * time.Minute

// record records what may be removed until cutAhead/2 from now: package reconcile must not
// take it for missing. Open letters go with the row of their message.
func record(ctx context.Context, p inbox.Pruner, plan inbox.Plan, consumer string) error {
	ctx, cancel := context.WithTimeout(ctx, batchTime)
	defer cancel()
	age := plan.Window
	if plan.OpenLetters > 0 {
		age = min(age, plan.OpenLetters)
	}
	return p.Cut(ctx, consumer, age-cutAhead)
}

// batchTime bounds one batch, so that a cut connection does not block the round forever.
const batchTime = 2 * time.Minute

// batch removes a batch of the part in the request's position.
func batch(ctx context.Context, p inbox.Pruner, r inbox.PruneRequest) (done inbox.Pruned, err error) {
	ctx, cancel := context.WithTimeout(ctx, batchTime)
	defer cancel()
	half, from, ok := strings.Cut(r.From, " ")
	r.From = from
	then := ""
	switch {
	case ok && half == messages:
		then = letters + " "
		done, err = p.Messages(ctx, r)
	case ok && half == letters:
		then = expired + " "
		done, err = p.Letters(ctx, r)
	case ok && half == expired:
		n, err := p.Expired(ctx, r.Limit)
		if err == nil && n == r.Limit { // there may be more
			done.Next = expired + " "
		}
		return done, err
	default:
		return inbox.Pruned{}, fmt.Errorf("%q is no position of a round", half)
	}
	if done.Next == "" {
		done.Next = then
	} else {
		done.Next = half + " " + done.Next
	}
	return done, err
}
