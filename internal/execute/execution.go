package execute

import (
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/internal/breaker"
	"github.com/headrace/headrace/internal/judge"
	"github.com/headrace/headrace/internal/outcome"
	"github.com/headrace/headrace/internal/runner"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// batchSavepoint is the name of an execution's savepoint; Nested uses another name.
const batchSavepoint = "headrace_batch"

// Execution runs the handlers of a batch. During Run, it belongs to the goroutine of its
// session.
type Execution struct {
	p     Plan
	s     *runner.Session
	queue []*Call
	// since are the calls that succeeded since the savepoint, applied those before it.
	since, applied []*Call
	failures       []*outcome.Failure
	// held are strict order keys with a failed message, and its row: later messages are
	// held back.
	held map[backlog.OrderKey]int64
	// spacing is after how many messages the savepoint is moved; 0 is never. set says
	// that there is one.
	spacing int
	set     bool
	// undone counts the failures that had to be undone, by handler.
	undone map[*task.Handler]int
	// session says that a handler may have changed the session.
	session bool
	trouble *Trouble
}

// New returns the execution of p.
func New(p Plan) *Execution {
	x := &Execution{p: p}
	x.queue = x.calls()
	n := len(p.Tasks)
	for _, c := range x.queue { // the handler that fails most often decides
		if s := c.h.Pace.Spacing(n, p.Spaced); s > 0 && (x.spacing == 0 || s < x.spacing) {
			x.spacing = s
		}
	}
	if p.Checked {
		x.spacing = 1
	}
	if len(x.queue) > 0 {
		x.queue[0].h.Telemetry.Batch(n)
	}
	return x
}

// Run makes the calls until all are made, or trouble ends the transaction.
func (x *Execution) Run(s *runner.Session) {
	x.s = s
	if x.spacing > 0 && !x.save(false) {
		return
	}
	for len(x.queue) > 0 && x.trouble == nil {
		if x.p.Cancelled.Err() != nil {
			x.stop(&Trouble{Facts: judge.Facts{Cancelled: true}})
			return
		}
		c := x.queue[0]
		x.queue = x.queue[1:]
		if x.holdBack(c) {
			continue
		}
		if c.before && len(x.since) > 0 && !x.save(true) {
			return
		}
		x.call(c)
	}
	x.keep()
}

func (x *Execution) call(c *Call) {
	x.make(c)
	r := x.s.Call(c.context(x.p.Cancelled), c.h.Timeout, c, c.run)
	c.returned(r)
	x.session = x.session || c.tx.SessionChanged()
	if c.tx.SessionOutlasts() {
		x.p.Txn.Retire()
	}
	share := len(x.since) + 1 // how many calls may have caused a failed statement
	if r.Err == nil {
		r.Err, share = x.verify(c), 1
	}
	if r.Err != nil {
		x.failed(c, r, share)
		return
	}
	x.since = append(x.since, c)
	// Also behind the last of those that were repeated twice.
	if len(x.queue) > 0 && (c.again > 1 && x.queue[0].again <= 1 || x.spacing > 0 && messages(x.since) >= x.spacing) {
		x.save(true)
	}
}

// keep moves the calls since the savepoint to applied.
func (x *Execution) keep() { x.applied, x.since = append(x.applied, x.since...), nil }

func messages(calls []*Call) (n int) {
	for _, c := range calls {
		n += len(c.tasks)
	}
	return n
}

// verify checks that a handler that returned nil left the transaction intact.
func (x *Execution) verify(c *Call) error {
	cursors := headrace.LeavesCursors(c.tx)
	if !c.tx.Failed() && !cursors && !x.p.Checked {
		return nil
	}
	ctx, cancel := x.p.Own()
	defer cancel()
	if c.tx.Failed() {
		if err := x.p.Txn.Alive(ctx); err != nil {
			return PassedOver(err)
		}
	}
	if cursors {
		if err := txn.CloseCursors(ctx, x.p.Txn); err != nil {
			return PassedOver(err)
		}
	}
	if !x.p.Checked {
		return nil
	}
	_, err := x.p.Txn.CheckDeferred(ctx)
	return err
}

// save sets the savepoint, or moves it to now. If there are too many already, the part is
// split after a failure instead.
func (x *Execution) save(move bool) bool {
	if x.p.Txn.Subtransactions() >= task.MaxSavepoints {
		return true
	}
	ctx, cancel := x.p.Own()
	defer cancel()
	s := x.p.Txn.Savepoint(batchSavepoint)
	set := s.Set
	if move && x.set {
		set = s.Move
	}
	if err := set(ctx); err != nil {
		x.stop(NewTrouble(judge.Record, err, x.p.Tasks))
		return false
	}
	x.set = true
	x.keep()
	return true
}

// failed decides what a failed call means for the transaction. share is how many calls
// may have caused it.
func (x *Execution) failed(c *Call, r runner.Result, share int) {
	failures, unclear := c.blame(r)
	f := x.facts(c, r, share, failures, unclear)
	tr := &Trouble{Facts: f, Err: r.Err, Culprits: failures, Probe: breaker.Claims}
	if !c.tx.Touched() && judge.Decide(f) == judge.Fail { // there are no effects to undo
		x.note(failures)
		x.again(nil, c.rest(failures))
		return
	}
	if x.undone == nil {
		x.undone = make(map[*task.Handler]int)
	}
	x.undone[c.h] += max(1, len(failures))
	if !x.set || f.Class == txn.Exists && f.Messages > 1 {
		x.stop(tr)
		return
	}
	if x.p.Txn.Subtransactions() >= task.MaxSavepoints && len(x.since) > 0 {
		x.stop(tr) // each failure would undo more messages
		return
	}
	ctx, cancel := x.p.Own()
	defer cancel()
	err := x.p.Txn.Savepoint(batchSavepoint).RollbackTo(ctx)
	if err == nil && c.tx.Failed() { // the answer may be that of an earlier statement
		err = x.p.Txn.Alive(ctx)
	}
	if err != nil {
		tr.Facts.Lost = true
		x.stop(tr)
		return
	}
	switch judge.Decide(f) {
	case judge.Fail:
		x.fail(c, failures)
	case judge.Rerun:
		if c.tasks[0].Token != "" {
			x.stop(tr)
			return
		}
		for _, one := range failures {
			one.Kind = outcome.Rerun
		}
		if f.Class.Conflict() {
			c.h.Pace.Deadlocked()
		}
		x.fail(c, failures)
	case judge.Split:
		x.oneByOne(c)
	default:
		x.stop(tr)
	}
}

// fail notes failures whose effects are undone, and repeats the calls since the savepoint
// without them.
func (x *Execution) fail(c *Call, failures []*outcome.Failure) {
	if failures[0].Kind == outcome.Stale && len(x.since) > 0 { // its version must be compared with those that are committed with it
		c.before = true
		x.again(x.since, []*Call{c.fresh()})
		return
	}
	x.note(failures)
	x.again(x.since, c.rest(failures))
}

// again queues calls again: since, and then others.
func (x *Execution) again(since, others []*Call) {
	if since != nil {
		x.since = nil
	}
	queue := make([]*Call, 0, len(since)+len(others)+len(x.queue))
	for _, c := range since {
		c = c.fresh()
		c.again++
		queue = append(queue, c)
	}
	queue = append(queue, others...)
	x.queue = append(queue, x.queue...)
}

// oneByOne queues the calls since the savepoint again, each behind a savepoint, and the
// messages of a batch one by one.
func (x *Execution) oneByOne(c *Call) {
	calls := append(x.since, c)
	x.since = nil
	var queue []*Call
	for _, one := range calls {
		for _, single := range one.singles() {
			single.before = true
			queue = append(queue, single)
		}
	}
	x.queue = append(queue, x.queue...)
}

// note stores failures, and holds back later messages of their strict order.
func (x *Execution) note(failures []*outcome.Failure) {
	for _, f := range failures {
		x.failures = append(x.failures, f)
		if key, strict := f.Task.StrictKey(); strict {
			if x.held == nil {
				x.held = make(map[backlog.OrderKey]int64)
			}
			row, held := x.held[key]
			if x.held[key] = f.Task.Item.RowID; held {
				x.held[key] = min(row, f.Task.Item.RowID)
			}
		}
	}
}

// holds reports whether t comes after a failed message of its strict order key.
func (x *Execution) holds(t *task.Task) bool {
	key, strict := t.StrictKey()
	row, held := x.held[key]
	return strict && held && t.Item.RowID > row
}

// holdBack removes the messages from c that come after a failed one of their strict order
// key, and reports whether none is left.
func (x *Execution) holdBack(c *Call) bool {
	if len(x.held) == 0 {
		return false
	}
	var tasks []*task.Task
	for _, t := range c.tasks {
		if x.holds(t) {
			x.failures = append(x.failures, &outcome.Failure{Task: t, Kind: outcome.HeldBack})
			continue
		}
		tasks = append(tasks, t)
	}
	c.tasks = tasks
	return len(tasks) == 0
}

// stop ends the execution with tr. Its earlier failures are known.
func (x *Execution) stop(tr *Trouble) {
	tr.Known = x.failures
	x.trouble = tr
}

// Trouble returns the reason why the execution ended early, or nil.
func (x *Execution) Trouble() *Trouble { return x.trouble }

// Failures returns the failures, both seen and known before.
func (x *Execution) Failures() []*outcome.Failure {
	if x == nil {
		return nil
	}
	return x.failures
}

// SessionChanged reports whether a handler may have changed the session.
func (x *Execution) SessionChanged() bool { return x.session }

// Calls reports whether there are calls to make.
func (x *Execution) Calls() bool { return len(x.queue) > 0 }

// Applied returns the tasks whose effects are in the transaction, after a Run without
// trouble.
func (x *Execution) Applied() []*task.Task {
	tasks := make([]*task.Task, 0, messages(x.applied))
	for _, c := range x.applied {
		tasks = append(tasks, c.tasks...)
	}
	return tasks
}

// Events returns those of the applied calls, in order.
func (x *Execution) Events() []outbox.Row {
	rows := make([]outbox.Row, 0, len(x.applied))
	for _, c := range x.applied {
		for _, e := range c.tx.Events() {
			rows = append(rows, outbox.RowOf(e))
		}
	}
	return rows
}

// Answers returns those of the applied calls.
func (x *Execution) Answers() (list []store.Answer) {
	for _, c := range x.applied {
		if answer := headrace.AnswerOf(c.tx); answer != nil {
			list = append(list, store.Answer{ID: c.tasks[0].ID(), Value: answer})
		}
	}
	return list
}

// Learn updates the paces of the handlers after a commit.
func (x *Execution) Learn(took time.Duration) {
	for rest := x.p.Tasks; len(rest) > 0; {
		h, n := rest[0].Handler, 1
		for n < len(rest) && rest[n].Handler == h { // they are sorted
			n++
		}
		h.Pace.Took(took, len(x.p.Tasks))
		h.Pace.Ran(min(x.undone[h], n), n)
		rest = rest[n:]
	}
}
