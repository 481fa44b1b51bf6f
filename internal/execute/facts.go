package execute

import (
	"context"
	"errors"

	"github.com/headrace/headrace/internal/judge"
	"github.com/headrace/headrace/internal/outcome"
	"github.com/headrace/headrace/internal/runner"
	"github.com/headrace/headrace/store/txn"
)

// facts are those about a failed call.
func (x *Execution) facts(c *Call, r runner.Result, share int, failures []*outcome.Failure, unclear bool) judge.Facts {
	f := judge.Facts{
		Phase: judge.Handler, Class: classOf(r.Err), Elsewhere: x.elsewhere(c, r.Err), Late: errors.Is(r.Err, context.DeadlineExceeded),
		Unclear: unclear, Messages: share, Refused: refused(r.Err),
		Cancelled: x.p.Cancelled.Err() != nil && errors.Is(r.Err, context.Canceled),
	}
	for _, one := range failures {
		f.Reruns = max(f.Reruns, one.Task.Reruns)
	}
	if f.Class == txn.Exists { // what exists may be of any earlier message
		f.Messages = len(x.applied) + len(x.since) + 1
	}
	return f
}

// elsewhere reports whether err, which c returned, has not failed the transaction.
func (x *Execution) elsewhere(c *Call, err error) bool {
	switch {
	case !c.tx.Touched():
		return true
	case c.tx.EverFailed() || classOf(err) == txn.Other: // no query is needed
		return false
	}
	ctx, cancel := x.p.Own()
	defer cancel()
	return x.p.Txn.Alive(ctx) == nil
}

// classOf is the database class of a handler's error. A timeout has none: it is the
// handler's failure, whatever it wraps.
func classOf(err error) txn.Class {
	if errors.Is(err, context.DeadlineExceeded) {
		return txn.Other
	}
	return txn.Classify(err)
}
