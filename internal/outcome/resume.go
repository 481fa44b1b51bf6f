package outcome

import (
	"context"
	"fmt"
	"slices"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

// Resumed are messages of backlog rows without a key, and the outcome of each: the row
// ends. A message that goes on has another row, and is Waiting.
type Resumed struct {
	Tasks    []*task.Task
	Outcomes []task.Outcome
	// Copies are the outbox rows of dead letters, for the commit.
	Copies []outbox.Row
}

// Resume asks the handlers for the keys of rows that have none: those of letters that were
// redriven from under stand-in keys. It takes each message into the backlog under its own
// key, whose inbox row decides. Without a key it is the open letter again that it was. It
// leaves out messages whose keys other transactions hold.
func (r *Recorder) Resume(ctx context.Context, t *txn.Txn, tasks []*task.Task, limits Limits) (done Resumed, err error) {
	var reopen, rest []*task.Task
	for _, one := range tasks {
		if one.Handler.Identify(one); inbox.IsStandIn(one.Delivery.Key) {
			reopen = append(reopen, one)
		} else {
			rest = append(rest, one)
		}
	}
	if done.Tasks, err = r.reopen(ctx, t, reopen); err != nil {
		return done, err
	}
	for _, one := range reopen {
		if !slices.Contains(done.Tasks, one) { // its letter is gone: it gets another one
			rest = append(rest, one)
			continue
		}
		done.Outcomes = append(done.Outcomes, task.Dead)
	}
	before := t.Savepoint("headrace_keys")
	if err := before.Set(ctx); err != nil {
		return done, fmt.Errorf("set a savepoint: %w", err)
	}
	for len(rest) > 0 {
		in, err := r.Intake(ctx, t, Messages(rest), limits)
		switch {
		case err != nil:
			return done, err
		case !in.Busy:
			done.Copies = in.Copies
			for i, one := range rest {
				done.Tasks, done.Outcomes = append(done.Tasks, one), append(done.Outcomes, in.Outcome(i, one))
			}
			return done, nil
		}
		if err := before.RollbackTo(ctx); err != nil {
			return done, fmt.Errorf("leave messages to other transactions: %w", err)
		}
		free := rest[:0:0]
		for i, one := range rest {
			if in.Messages[i] != Busy {
				free = append(free, one)
			}
		}
		rest = free
	}
	return done, nil
}

// reopen opens the letters again that the tasks were redriven from, and returns the tasks
// that have one.
func (r *Recorder) reopen(ctx context.Context, t *txn.Txn, tasks []*task.Task) (reopened []*task.Task, err error) {
	var claims []inbox.Claim
	var ids []inbox.ID
	for _, one := range tasks {
		l := r.letter(Item(one), dlq.Undecodable, dlq.Describe(one.Bad, nil, r.Redact))
		l.LetterID = one.Item.LetterID
		m, found, err := r.Store.Letters().Reopen(ctx, t, l)
		if err != nil {
			return nil, err
		}
		if found {
			claims = append(claims, m) // not with the fingerprint of an edit
			one.Letter = &l
			reopened, ids = append(reopened, one), append(ids, m.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	// Retention may have removed rows that were discarded.
	if _, err := r.Store.Inbox().Claim(ctx, t, inbox.ClaimRequest{Claims: claims, Waiting: true}); err != nil {
		return nil, fmt.Errorf("claim stand-in keys: %w", err)
	}
	for _, from := range []inbox.State{inbox.Discarded, inbox.Waiting} {
		if _, err := r.Store.Inbox().Transition(ctx, t, ids, from, inbox.Dead); err != nil {
			return nil, fmt.Errorf("%s to dead: %w", from, err)
		}
	}
	return reopened, nil
}

// CountDeliveries counts those of messages, all duplicates, that have letters under
// stand-in keys, and reports whether there are any.
func (r *Recorder) CountDeliveries(ctx context.Context, t *txn.Txn, messages []inbox.ID) (bool, error) {
	messages = slices.DeleteFunc(messages, func(id inbox.ID) bool { return !inbox.IsStandIn(id.Key) })
	if len(messages) == 0 {
		return false, nil
	}
	return true, r.Store.Letters().CountDeliveries(ctx, t, messages)
}
