package execute

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/attempt"
	"github.com/headrace/headrace/internal/outcome"
	"github.com/headrace/headrace/internal/runner"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/internal/telemetry"
	"github.com/headrace/headrace/retry"
)

// RefusedError is the error of a Handler.Run that runs nothing, because the program is set
// up wrongly. It spends no attempt; deliveries are released, and rows of the backlog stay.
// The caller must not run them again. It is a type, because a user's error may have an Is
// that matches every error.
type RefusedError struct {
	// Reason says what is wrong.
	Reason error
}

// Error gives the reason.
func (e *RefusedError) Error() string { return "the handler is not run: " + e.Reason.Error() }

// Unwrap returns the reason.
func (e *RefusedError) Unwrap() error { return e.Reason }

func refused(err error) bool {
	var r *RefusedError
	return errors.As(err, &r)
}

// BatchFailure names the failed messages of a batch, by their index. The consumer's
// BatchError is one.
type BatchFailure interface {
	error
	FailedAt() map[int]error
}

// maxBatchRuns is how often a batch handler gets a failing batch; then it gets its
// messages one by one.
const maxBatchRuns = 2

// Call is one call of the user's function, for one message or for a batch.
type Call struct {
	h     *task.Handler
	tasks []*task.Task
	// runs counts earlier calls for these messages, again those of them that are repeated
	// because a later call failed.
	runs, again int
	before      bool // set a savepoint before the call

	inputs []task.Input
	tx     *headrace.Tx
	took   time.Duration
	span   *telemetry.Run
	first  bool // first call of its transaction
}

// Of implements task.Call.
func (c *Call) Of() (*task.Handler, int) { return c.h, len(c.tasks) }

// Returned implements task.Call.
func (c *Call) Returned() {}

// Tasks returns the messages of the call.
func (c *Call) Tasks() []*task.Task { return c.tasks }

// calls returns the calls for the tasks of an attempt. For a known failure it records the
// failure instead.
func (x *Execution) calls() (calls []*Call) {
	for _, t := range x.p.Tasks {
		f := x.p.Known(t)
		if f == nil && t.Bad != nil {
			f = &outcome.Failure{Task: t, Kind: outcome.Undecodable, Err: t.Bad}
		}
		if f == nil && t.Held != nil {
			f = &outcome.Failure{Task: t, Err: t.Held}
		}
		if f != nil {
			x.note([]*outcome.Failure{f})
			continue
		}
		if x.holds(t) {
			x.failures = append(x.failures, &outcome.Failure{Task: t, Kind: outcome.HeldBack})
			continue
		}
		if n := len(calls); n > 0 && t.Handler.Batch && !x.p.Singly && calls[n-1].h == t.Handler {
			calls[n-1].tasks = append(calls[n-1].tasks, t)
			continue
		}
		calls = append(calls, &Call{h: t.Handler, tasks: []*task.Task{t}, before: x.p.Before[t], first: len(calls) == 0})
	}
	return calls
}

// fresh returns c for another call.
func (c *Call) fresh() *Call {
	return &Call{h: c.h, tasks: c.tasks, runs: c.runs, before: c.before, again: c.again}
}

// singles returns a call for each of c's messages.
func (c *Call) singles() []*Call {
	calls := make([]*Call, len(c.tasks))
	for i := range c.tasks {
		calls[i] = &Call{h: c.h, tasks: c.tasks[i : i+1 : i+1]}
	}
	return calls
}

// rest returns the calls for the messages of a batch that did not fail; their effects are
// undone with those of the others.
func (c *Call) rest(failures []*outcome.Failure) []*Call {
	rest := &Call{h: c.h, runs: c.runs + 1, again: c.again}
	for _, t := range c.tasks {
		if !slices.ContainsFunc(failures, func(f *outcome.Failure) bool { return f.Task == t }) {
			rest.tasks = append(rest.tasks, t)
		}
	}
	switch {
	case len(rest.tasks) == 0:
		return nil
	case rest.runs >= maxBatchRuns:
		return rest.singles()
	}
	return []*Call{rest}
}

// make prepares the arguments of the user's function.
func (x *Execution) make(c *Call) {
	c.inputs = make([]task.Input, len(c.tasks))
	for i, t := range c.tasks {
		c.inputs[i] = t.Input()
	}
	o := headrace.TxOptions{Alone: c.h.Alone, Answers: !c.h.Batch, Encoder: c.h.Encoder, Scope: c.h.Scope, Versions: x.p.Versions}
	if !c.h.Batch {
		o.Trace = c.tasks[0].Delivery.Trace
	}
	c.tx = headrace.NewTx(x.p.Txn, o)
}

// context returns the context of the user's function, without its deadline: it ends with
// the drain time of the consumer, and has the values of the delivery.
func (c *Call) context(ctx context.Context) context.Context {
	if values := c.tasks[0].Context; values != nil {
		ctx = task.WithValues(ctx, values)
	}
	tel := c.h.Telemetry
	var trace headrace.TraceContext
	if c.h.Batch {
		ctx, trace, c.span = tel.StartBatch(ctx, len(c.inputs), func(i int) (*headrace.Delivery, *telemetry.Receipt) {
			return &c.inputs[i].Delivery, c.inputs[i].Receipt
		})
	} else {
		ctx, trace, c.span = tel.Start(ctx, &c.inputs[0].Delivery, c.inputs[0].Receipt, c.first)
	}
	if trace.Parent != "" {
		c.tx.SetTrace(trace)
	}
	for _, t := range c.tasks {
		t.Began(c.span)
	}
	return ctx
}

// run calls the user's function, and closes the rows and statements that it left open.
func (c *Call) run(ctx context.Context) (err error) {
	returned := false
	defer func() {
		bad := c.tx.Close()
		c.tx.CloseRows()
		if returned && err == nil {
			err = bad
		}
	}()
	err = attempt.Late(ctx, c.h.Run(ctx, c.tx, c.inputs), c.h.Timeout, "consumer.Timeout, Config.HandlerTimeout")
	returned = true
	return err
}

// returned records that the call returned.
func (c *Call) returned(r runner.Result) {
	c.took = r.Took
	c.span.Returned()
	if c.h.Leased == nil || r.Err != nil { // the work was counted, and this commits its result
		c.h.Telemetry.Took(&c.inputs[0].Delivery, r.Took, outcome.RunClass(r.Err))
	}
}

// SessionChanged reports whether the call may have changed the session, or ended the
// transaction.
func (c *Call) SessionChanged() bool { return c.tx.SessionChanged() }

// LeftBehind records that the call did not return, and closes its Tx.
func (c *Call) LeftBehind() {
	_ = c.tx.Close()
	c.span.Fail(string(retry.Timeout), "", "")
	c.h.Telemetry.Took(&c.inputs[0].Delivery, c.h.Timeout, string(retry.Timeout))
}

// blame returns the failures in r, or reports unclear if r does not say which of several
// messages failed.
func (c *Call) blame(r runner.Result) (failures []*outcome.Failure, unclear bool) {
	failed := map[int]error{}
	var batch BatchFailure
	if errors.As(r.Err, &batch) {
		failed = batch.FailedAt()
	}
	if len(c.tasks) == 1 {
		err := r.Err
		if only := failed[0]; only != nil {
			err = only
		}
		return []*outcome.Failure{{Task: c.tasks[0], Kind: outcome.KindOf(err), Err: err, Stack: r.Stack, Took: r.Took}}, false
	}
	for i, t := range c.tasks {
		err, named := failed[i]
		if !named {
			continue
		}
		if err == nil {
			err = r.Err
		}
		if outcome.KindOf(err) == outcome.Stale { // its version was compared with others of the batch, which are undone
			return nil, true
		}
		failures = append(failures, &outcome.Failure{Task: t, Err: err, Took: r.Took})
	}
	return failures, len(failures) == 0
}
