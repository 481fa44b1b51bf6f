package group

import (
	"context"
	"errors"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/internal/telemetry"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/txn"
)

// observed begins the span of a call, and returns the context for its handler. first
// says that it is the first call of its transaction.
func (e *Engine) observed(ctx context.Context, c *call, first bool) context.Context {
	tel := e.h.Telemetry
	var trace headrace.TraceContext
	var run *telemetry.Run
	if e.h.Batch {
		ctx, trace, run = tel.StartBatch(ctx, len(c.inputs), func(i int) (*headrace.Delivery, *telemetry.Receipt) {
			return &c.inputs[i].Delivery, c.inputs[i].receipt
		})
	} else {
		ctx, trace, run = tel.Start(ctx, &c.inputs[0].Delivery, c.inputs[0].receipt, first)
	}
	if trace.Parent != "" {
		c.tx.SetTrace(trace)
	}
	if run != nil {
		c.run.Store(run)
	}
	return ctx
}

// returned records that a call came back.
func (e *Engine) returned(c *call) {
	c.run.Load().Returned()
	class := ""
	if c.err != nil && !(failure{err: c.err}).isStale() {
		class = string(retry.Classify(c.err))
	}
	e.h.Telemetry.Took(&c.inputs[0].Delivery, c.took, class)
}

// leftBehind records that a call did not come back.
func (e *Engine) leftBehind(c *call) {
	c.run.Load().Fail(string(retry.Timeout), "", "")
	e.h.Telemetry.Took(&c.inputs[0].Delivery, e.h.Timeout+e.o.Grace, string(retry.Timeout))
}

// hand gives the spans of a group's calls to their tasks, which end them when it is
// known what became of them.
func (p *progress) hand() {
	for _, c := range p.calls {
		run := c.run.Load()
		for _, task := range c.tasks {
			task.end(telemetry.RolledBack) // the run before, where nobody judged it
			task.run = run
		}
	}
}

// undone ends the spans of those tasks whose run was not committed and is not judged.
func undone(tasks []*Task, r result) {
	if r.err == nil && len(r.failures) == 0 {
		return
	}
	judged := make(map[*Task]bool, len(r.failures))
	for _, f := range r.failures {
		judged[f.task] = true
	}
	why := telemetry.RolledBack
	if errors.Is(r.err, txn.ErrCommitUnknown) {
		why = telemetry.NoAnswer
	}
	for _, t := range tasks {
		if !judged[t] {
			t.end(why)
		}
	}
}

// end ends the span of the task's run, if there is one.
func (t *Task) end(outcome string) {
	t.run.End(outcome)
	t.run = nil
}

// judged ends the span of a run whose verdict is committed.
func (t *Task) judged(r ruling) {
	if r.class != "" {
		t.run.Fail(r.class, r.failure.Type, r.failure.Print)
	}
	if r.again {
		t.end(telemetry.Again)
		return
	}
	t.end(r.outcome.String())
}

// count counts a delivery that has its outcome, and the letter that was written of it.
func (e *Engine) count(t *Task, o Outcome) {
	t.end(o.String())
	e.h.Telemetry.Settled(int(o))
	e.buried(t, o)
}

// buried counts the letter of a task that ended with one.
func (e *Engine) buried(t *Task, o Outcome) {
	if t.letter != "" && (o == Dead || o == Conflict) {
		e.h.Telemetry.Buried(&t.Delivery, string(t.letter))
	}
}

// drained tells of a backlog row that has its outcome.
func (l *Line) drained(e *Engine, t *Task, o Outcome) { e.drained(t, o) }

// drained tells of a backlog row that has its outcome.
func (e *Engine) drained(t *Task, o Outcome) {
	t.end(o.String())
	e.h.Telemetry.Drained(int(o))
	e.buried(t, o)
	e.o.Drained(e.h, o)
}

// undone ends the spans that a Work leaves open.
func (b *batch) undone() {
	for _, task := range b.tasks {
		task.end(telemetry.RolledBack)
	}
}

// noting remembers the letter that is written for a task.
type noting struct {
	dlq.Store
	task *Task
}

// Insert implements dlq.Store.
func (n noting) Insert(ctx context.Context, t *txn.Txn, l dlq.Letter) (id int64, written bool, err error) {
	if id, written, err = n.Store.Insert(ctx, t, l); written {
		n.task.letter = l.Class
	}
	return id, written, err
}
