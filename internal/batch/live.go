package batch

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/outcome"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/store/txn"
)

// live claims deliveries.
type live struct{ p *Processor }

func (l *live) reads(*part) bool { return false }
func (l *live) runs() bool       { return true }

// claim inserts the inbox rows. The first claim of a part is not guarded by a savepoint:
// that costs two round trips, and other transactions rarely hold its keys.
func (l *live) claim(ctx context.Context, t *txn.Txn, pt *part) (claimed, error) {
	h := pt.tasks[0].Handler
	request := inbox.ClaimRequest{
		Claims: make([]inbox.Claim, len(pt.tasks)), Limits: l.p.limits(h.Timeout),
		LockTimeout: l.p.LockTimeout, Unguarded: !pt.keyByKey,
	}
	for i, one := range pt.tasks {
		request.Claims[i] = inbox.Claim{ID: one.ID(), Fingerprint: one.Delivery.Fingerprint}
	}
	answers, err := l.p.Store.Inbox().Claim(ctx, t, request)
	if err != nil {
		return claimed{}, fmt.Errorf("claim: %w", err)
	}
	return l.sort(ctx, t, pt, answers)
}

// sort sorts the tasks by the answers to their claims.
func (l *live) sort(ctx context.Context, t *txn.Txn, pt *part, answers []inbox.Claimed) (claimed, error) {
	var c claimed
	var conflicts []*task.Task
	var known []inbox.ID
	var first []string
	for i, answer := range answers {
		one := pt.tasks[i]
		switch {
		case answer.Result == inbox.Busy:
			c.busy = append(c.busy, one)
		case answer.Result == inbox.Won:
			if one.Unknown { // the COMMIT without an answer had not happened
				one.Reruns++
			}
			c.tasks = append(c.tasks, one)
		case answer.Entry.Fingerprint == one.Delivery.Fingerprint:
			if !one.Unknown { // else it is no other delivery
				known = append(known, one.ID())
			}
			c.settled = append(c.settled, settled{one, one.OutcomeOf(answer.Entry)})
		default:
			conflicts, first = append(conflicts, one), append(first, answer.Entry.Fingerprint)
			c.settled = append(c.settled, settled{one, task.Conflict})
		}
	}
	if len(c.busy) > 0 {
		return c, nil
	}
	var err error
	if c.wrote, err = l.p.Recorder.CountDeliveries(ctx, t, known); err != nil || len(conflicts) == 0 {
		return c, err
	}
	c.wrote = true
	c.copies, err = l.p.Recorder.Conflicts(ctx, t, conflicts, first)
	return c, err
}

// intake puts deliveries into the backlog instead of running their handlers.
type intake struct{ live }

func (k *intake) runs() bool { return false }

func (k *intake) claim(ctx context.Context, t *txn.Txn, pt *part) (claimed, error) {
	limits := outcome.Limits{Lock: k.p.LockTimeout, Limits: k.p.limits(pt.tasks[0].Handler.Timeout)}
	in, err := k.p.Recorder.Intake(ctx, t, outcome.Messages(pt.tasks), limits)
	if err != nil {
		return claimed{}, fmt.Errorf("take in: %w", err)
	}
	c := claimed{copies: in.Copies, wrote: in.Counted}
	for i, one := range pt.tasks {
		if in.Messages[i] == outcome.Busy {
			c.busy = append(c.busy, one)
			continue
		}
		c.wrote = c.wrote || in.Messages[i] != outcome.Known
		c.settled = append(c.settled, settled{one, in.Outcome(i, one)})
	}
	return c, nil
}
