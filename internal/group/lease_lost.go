package group

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/txn"
)

// lostLimit is how many lost leases it takes to give a message up: a deploy that kills
// its processes accuses nobody.
const lostLimit = 3

// lostLeases are the verdicts on leases that were not given back.
type lostLeases []struct {
	failure
	ruling
}

// judgeLost writes the verdicts on those of tasks whose lease before this one was lost.
// The tasks are leased in t.
func (e *Engine) judgeLost(ctx context.Context, t *txn.Txn, tasks []*Task) (lostLeases, error) {
	var lost []*Task
	for _, task := range tasks {
		if task.item.Lost {
			lost = append(lost, task)
		}
	}
	if len(lost) == 0 {
		return nil, nil
	}
	// All order keys at once: whoever takes them one by one meets others crosswise.
	if _, err := e.lockOrder(ctx, t, lost); err != nil {
		return nil, err
	}
	list := make(lostLeases, len(lost))
	for i, task := range lost {
		f := failure{task: task, err: fmt.Errorf("%w: its process ended, stood still or was cut off (start %d)", ErrLeaseLost, task.item.Starts-1)}
		r, err := e.rule(ctx, t, f)
		if err != nil {
			return nil, fmt.Errorf("verdict on a lost lease: %w", err)
		}
		list[i].failure, list[i].ruling = f, r
	}
	return list, nil
}

// sort returns the tasks that are to be worked on, and the copies of the letters.
func (l lostLeases) sort(tasks []*Task) (begin []*Task, copies []outbox.Row) {
	ended := make(map[*Task]bool, len(l))
	for _, v := range l {
		ended[v.task] = !v.again
		copies = append(copies, v.rows...)
	}
	for _, task := range tasks {
		if !ended[task] {
			begin = append(begin, task)
		}
	}
	return begin, copies
}

// announce tells of verdicts that are committed.
func (e *Engine) announce(l lostLeases, copies []outbox.Row) {
	if len(copies) > 0 {
		e.o.Wake()
	}
	for _, v := range l {
		e.report(v.failure, v.ruling)
		if !v.again {
			e.drained(v.task, v.outcome)
		}
	}
}

// forgive has a message run again that would be given up for a lost lease, while there
// were too few of them to say that it is the message which ends its process.
func (e *Engine) forgive(ctx context.Context, t *txn.Txn, task *Task, spent int, d retry.Decision) (retry.Decision, error) {
	if d.Action != retry.Never {
		return d, nil
	}
	lost, err := e.st.Backlog().Leases.Lost(ctx, t, task.ID(), spent)
	if err != nil || lost >= lostLimit {
		return d, err
	}
	return retry.Decision{Action: retry.Now}, nil
}
