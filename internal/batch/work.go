package batch

import (
	"fmt"
	"slices"

	"github.com/headrace/headrace/internal/breaker"
	"github.com/headrace/headrace/internal/execute"
	"github.com/headrace/headrace/internal/judge"
	"github.com/headrace/headrace/internal/outcome"
	"github.com/headrace/headrace/internal/runner"
	"github.com/headrace/headrace/internal/sleep"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/internal/telemetry"
)

// Job brings messages to their outcomes.
type Job struct {
	p *Processor
	c claims
	// await is called while the store is unavailable, and reports whether to go on.
	await func(error) bool
	parts []*part
	at    *attempt // in progress
	// left are the tasks without an outcome, and first the first of each order key: later messages must not run before it.
	left  []*task.Task
	first map[string]*task.Task
	tasks []*task.Task // all, in their order; none if they are rows
}

// Left returns the deliveries that have no outcome: they are to be run again, each in its
// place, or released if the consumer stops. Next has returned nil.
func (j *Job) Left() []*task.Task {
	return slices.DeleteFunc(j.tasks, func(t *task.Task) bool { return !slices.Contains(j.left, t) })
}

// work processes parts, one after the other, and returns the tasks without an outcome.
// await is called while the store is unavailable, and reports whether to go on.
func (p *Processor) work(c claims, parts []*part, await func(error) bool) (left []*task.Task) {
	j := &Job{p: p, c: c, await: await, parts: parts}
	for run := j.Next(nil); run != nil; run = j.Next(p.Runner.Run(p.cancelled, run)) {
	}
	return j.left
}

// Next goes on until handlers have to run, and returns what runs them; nil at the end. The
// caller runs it and calls Next again, with lost if it has not returned: see runner.Runner.
func (j *Job) Next(lost *runner.Lost) func(*runner.Session) {
	if lost != nil && lost.What == nil { // not in a handler: nothing more is known of the messages
		j.p.Fatal(fmt.Errorf("between two handlers: %w", lost.Err))
		j.at, j.parts = nil, nil
	}
	if j.at != nil {
		j.after(j.at.end(j.at.executed(lost)))
	}
	for len(j.parts) > 0 {
		next := j.parts[0]
		j.parts = j.parts[1:]
		if len(j.first) > 0 {
			next = j.free(next)
		}
		if j.p.cancelled.Err() != nil {
			j.leave(next.tasks)
			continue
		}
		if len(next.tasks) == 0 && !j.c.reads(next) || !j.enter(next) {
			continue
		}
		tr := j.at.begin()
		if tr == nil && j.at.x != nil && j.at.x.Calls() {
			return j.at.x.Run
		}
		j.after(j.at.end(tr))
	}
	return nil
}

// enter makes the attempt for a part when the guard permits it, and reports whether it does.
func (j *Job) enter(pt *part) bool {
	p := j.p
	j.at = &attempt{p: p, c: j.c, part: pt, leave: func(bool) {}}
	if p.Guard == nil || !j.c.runs() {
		return true
	}
	if pt.tasks != nil && !pt.advised {
		if parts, later := p.advise(pt); len(parts) != 1 || parts[0] != pt {
			j.after(step{parts: parts, left: later})
			return false
		}
	}
	var err error
	if j.at.leave, err = p.Guard.Enter(p.stopping, task.IDs(pt.tasks), pt.alone); err != nil { // the store's, or ctx's on a stop, which await handles
		j.after(step{parts: []*part{pt}, away: fmt.Errorf("mark the messages that run: %w", err)})
	}
	return err == nil
}

// after does what follows a step.
func (j *Job) after(s step) {
	j.at = nil
	j.leave(s.left)
	j.parts = append(s.parts, j.parts...)
	if s.away == nil || j.await(s.away) {
		return
	}
	for _, rest := range j.parts {
		j.leave(rest.tasks)
	}
	j.parts = nil
}

func (j *Job) leave(tasks []*task.Task) {
	for _, t := range tasks {
		if key := t.Delivery.OrderKey; key != "" && (t.Item == nil || t.Item.Strict) && !j.behind(t) {
			if j.first == nil {
				j.first = make(map[string]*task.Task)
			}
			j.first[key] = t
		}
	}
	j.left = append(j.left, tasks...)
}

// behind reports whether t comes after a task of its order key that is left.
func (j *Job) behind(t *task.Task) bool {
	first := j.first[t.Delivery.OrderKey]
	switch {
	case first == nil:
		return false
	case t.Item != nil:
		return first.Item.RowID < t.Item.RowID
	}
	return slices.Index(j.tasks, first) < slices.Index(j.tasks, t)
}

// free leaves the tasks of pt that must not run before one that is left.
func (j *Job) free(pt *part) *part {
	free := pt.tasks[:0:0]
	for _, t := range pt.tasks {
		if j.behind(t) {
			j.left = append(j.left, t)
		} else {
			free = append(free, t)
		}
	}
	return pt.of(free)
}

// step is what to do after one attempt.
type step struct {
	parts []*part      // to process next
	left  []*task.Task // to be given back
	away  error        // the store is unavailable: wait before going on
}

// afterTrouble decides what to do after an attempt that was not committed.
func (p *Processor) afterTrouble(pt *part, tr *execute.Trouble) step {
	why := telemetry.RolledBack
	if tr.Facts.Unknown {
		why = telemetry.NoAnswer
	}
	for _, t := range pt.tasks {
		t.End(why)
	}
	if tr.Again {
		return step{parts: []*part{pt}}
	}
	d := judge.Decide(tr.Facts)
	var away error
	if d == judge.Ask {
		ctx, cancel := p.Own()
		defer cancel()
		tr.Facts.Store = judge.Serves
		if away = breaker.Ask(ctx, p.Store, tr.Probe); away != nil {
			tr.Facts.Store = judge.Away
		}
		d = judge.Decide(tr.Facts)
	}
	if len(tr.Known) > 0 {
		p.learn(pt, tr.Known)
	}
	switch d {
	case judge.Await:
		return step{parts: []*part{pt}, away: fmt.Errorf("%w (seen as: %w)", away, tr.Unblamed())}
	case judge.Split:
		return step{parts: p.split(pt, tr)}
	case judge.Again:
		return step{parts: []*part{pt}}
	case judge.Busy:
		return step{left: rested(pt.tasks)}
	case judge.Fail, judge.Rerun:
		return p.blame(pt, tr, d)
	case judge.Stop:
		p.Fatal(fmt.Errorf("handler %s: %w", pt.tasks[0].Handler.Scope, tr.Err))
	case judge.Release:
		for _, t := range pt.tasks {
			if t.Finish != nil { // its handler did not run; rows of the backlog stay where they are
				p.settle(t, task.Released)
			}
		}
		return step{}
	}
	return step{left: pt.tasks}
}

// rested returns tasks that are to be left alone for restTime.
func rested(tasks []*task.Task) []*task.Task {
	for _, t := range tasks {
		t.Rest = restTime
	}
	return tasks
}

// split makes smaller parts, because the cause of the trouble is unknown.
func (p *Processor) split(pt *part, tr *execute.Trouble) []*part {
	pt.spaced = true
	switch {
	case tr.Facts.Unclear: // a batch handler that does not name the message
		pt.singly = true
		return []*part{pt}
	case tr.Facts.Phase == judge.Commit && !tr.Facts.Unknown && !pt.checked:
		pt.checked = true // checking after each message shows which one violates a deferred constraint
		return pt.chunks(maxChecked)
	}
	return pt.halves()
}

// maxChecked is how many messages of one transaction may each have a savepoint.
const maxChecked = 30

// blame makes the trouble the failure of its culprits, which the next attempt records. If
// the connection was lost, the part may contain more such messages, so blame halves it:
// that bounds how often the other messages run. It also halves a part if nothing new was
// learned.
func (p *Processor) blame(pt *part, tr *execute.Trouble, d judge.Decision) step {
	failures := tr.Culprits
	if len(failures) == 0 { // our own statement, or COMMIT: the task is alone
		failures = []*outcome.Failure{{Task: pt.tasks[0], Err: tr.Err}}
	}
	if one := pt.tasks[0]; d == judge.Rerun && one.Token != "" { // repeat only the effects, not the leased work
		pause := outcome.RerunPause(one.Reruns)
		one.Reruns++
		if !sleep.For(p.cancelled, pause) {
			return step{left: pt.tasks}
		}
		return step{parts: []*part{pt}}
	}
	before := len(pt.before)
	for _, f := range failures {
		f.Kind = outcome.KindOf(f.Err)
		if d == judge.Rerun {
			f.Kind = outcome.Rerun
		}
		if f.Kind == outcome.Stale && len(pt.tasks) > 1 {
			if pt.before == nil {
				pt.before = make(map[*task.Task]bool)
			}
			pt.before[f.Task] = true // its version must be compared with those that are committed with it
		}
	}
	learned := p.learn(pt, failures) || len(pt.before) > before
	if tr.Facts.Class.Conflict() {
		failures[0].Task.Handler.Pace.Deadlocked()
	}
	switch {
	case learned && (!tr.Facts.Lost || p.open(pt) < 2):
		return step{parts: []*part{pt}}
	case learned || len(pt.tasks) > 1:
		return step{parts: pt.halves()}
	}
	return step{left: rested(pt.tasks)}
}
