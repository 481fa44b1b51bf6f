package batch

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/outcome"
	"github.com/headrace/headrace/internal/sleep"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/store/txn"
)

// Finish commits the effects of a leased task, or records its failure. It waits while the
// store is unavailable, and reports false if the consumer ends first: the caller then
// gives the lease back.
func (p *Processor) Finish(t *task.Task, failure *outcome.Failure) bool {
	pt := &part{tasks: []*task.Task{t}}
	if failure != nil {
		p.memory.Learn(failure)
	}
	left := p.work(&leased{p}, []*part{pt}, func(err error) bool {
		return sleep.For(p.cancelled, p.Breaker.Fail(fmt.Errorf("commit under a lease: %w", err)))
	})
	return len(left) == 0
}

// leased claims the message of a lease.
type leased struct{ p *Processor }

func (l *leased) reads(*part) bool { return false }
func (l *leased) runs() bool       { return false } // its work may have ended the process, but that is done

// claim locks the row of the lease, as the first statement, and moves the inbox row.
func (l *leased) claim(ctx context.Context, t *txn.Txn, pt *part) (claimed, error) {
	one := pt.tasks[0]
	held, err := l.p.Store.Backlog().Leases.Fence(ctx, t, one.Lease(), l.p.limits(one.Handler.Timeout))
	if err != nil {
		return claimed{}, err
	}
	if !held { // another process has it, or the COMMIT without an answer had happened
		o := task.Duplicate
		if one.Unknown {
			o = task.Applied
			if f := l.p.memory.Knows(one); f != nil {
				o = f.Outcome
			}
		}
		return claimed{settled: []settled{{one, o}}}, nil
	}
	moved, err := l.p.Store.Inbox().Transition(ctx, t, []inbox.ID{one.ID()}, inbox.Waiting, inbox.Done)
	if err != nil {
		return claimed{}, fmt.Errorf("waiting to done: %w", err)
	}
	if len(moved) == 0 {
		return claimed{gone: pt.tasks, settled: []settled{{one, task.Duplicate}}}, nil
	}
	if one.Unknown {
		one.Reruns++
	}
	return claimed{tasks: pt.tasks}, nil
}
