package batch

import (
	"fmt"

	"github.com/headrace/headrace/internal/breaker"
	"github.com/headrace/headrace/internal/execute"
	"github.com/headrace/headrace/internal/judge"
	"github.com/headrace/headrace/internal/outcome"
	"github.com/headrace/headrace/internal/sleep"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/internal/telemetry"
)

// work processes parts, one after the other, and returns the tasks without an outcome.
// hold is called while the store is unavailable, and reports whether to go on.
func (p *Processor) work(c claims, parts []*part, hold func(error) bool) (left []*task.Task) {
	behind := make(map[string]bool) // order keys of left: later messages must not run first
	leave := func(tasks []*task.Task) {
		for _, t := range tasks {
			if key := t.Delivery.OrderKey; key != "" && (t.Item == nil || t.Item.Strict) {
				behind[key] = true
			}
		}
		left = append(left, tasks...)
	}
	for len(parts) > 0 {
		next := parts[0]
		parts = parts[1:]
		if len(behind) > 0 {
			free := next.tasks[:0:0]
			for _, t := range next.tasks {
				if behind[t.Delivery.OrderKey] {
					left = append(left, t)
				} else {
					free = append(free, t)
				}
			}
			next = next.of(free)
		}
		if p.cancelled.Err() != nil {
			leave(next.tasks)
			continue
		}
		if len(next.tasks) == 0 && !c.reads(next) {
			continue
		}
		s := p.step(c, next)
		leave(s.left)
		parts = append(s.parts, parts...)
		if s.away == nil {
			continue
		}
		if !hold(s.away) {
			for _, rest := range parts {
				leave(rest.tasks)
			}
			return left
		}
	}
	return left
}

// step is what to do after one attempt.
type step struct {
	parts []*part      // to process next
	left  []*task.Task // to be given back
	away  error        // the store is unavailable: wait before going on
}

// step makes one attempt for a part, and decides what to do next.
func (p *Processor) step(c claims, pt *part) step {
	if pt.tasks != nil && !pt.advised && c.runs() {
		if parts, later := p.advise(pt); len(parts) != 1 || parts[0] != pt {
			return step{parts: parts, left: later}
		}
	}
	leave, err := p.enter(c, pt)
	if err != nil { // the store's, or ctx's on a stop, which hold handles
		return step{parts: []*part{pt}, away: err}
	}
	a := &attempt{p: p, c: c, part: pt}
	trouble := a.run()
	leave(a.x != nil && !a.stuck)
	switch {
	case trouble != nil:
		return p.afterTrouble(pt, trouble)
	case a.claimed.read:
		parts, later := p.advise(pt)
		return step{parts: parts, left: later}
	case len(a.claimed.busy) > 0:
		smaller, rest := pt.without(a.claimed.busy)
		for _, t := range rest {
			t.Rest = restTime
		}
		return step{parts: []*part{smaller}, left: rest}
	}
	return step{left: outcome.Held(a.x.Failures())} // later parts may have what comes behind them
}

// enter asks the guard for permission to run the part. Intake runs no handler and needs
// none.
func (p *Processor) enter(c claims, pt *part) (leave func(ran bool), err error) {
	if p.Guard == nil || !c.runs() {
		return func(bool) {}, nil
	}
	leave, err = p.Guard.Enter(p.stopping, task.IDs(pt.tasks), pt.alone)
	if err != nil {
		return nil, fmt.Errorf("mark the messages that run: %w", err)
	}
	return leave, nil
}

// afterTrouble decides what to do after an attempt that was not committed.
func (p *Processor) afterTrouble(pt *part, tr *trouble) step {
	why := telemetry.RolledBack
	if tr.Facts.Unknown {
		why = telemetry.NoAnswer
	}
	undo(pt.tasks, why)
	pt = tr.part
	if tr.again {
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
	case judge.Hold:
		return step{parts: []*part{pt}, away: fmt.Errorf("%w (seen as: %w)", away, tr.Unblamed())}
	case judge.Split:
		return step{parts: p.split(pt, tr)}
	case judge.Again:
		return step{parts: []*part{pt}}
	case judge.Busy:
		return p.rest(pt)
	case judge.Fail, judge.Rerun:
		return p.blame(pt, tr, d)
	case judge.Stop:
		p.Fatal(fmt.Errorf("handler %s: %w", pt.tasks[0].Handler.Scope, tr.Err))
	case judge.Release:
		p.release(pt.tasks)
		return step{}
	}
	return step{left: pt.tasks}
}

// rest postpones the tasks for restTime.
func (p *Processor) rest(pt *part) step {
	for _, t := range pt.tasks {
		t.Rest = restTime
	}
	return step{left: pt.tasks}
}

// release gives back deliveries whose handlers did not run. Rows of the backlog stay
// where they are.
func (p *Processor) release(tasks []*task.Task) {
	for _, t := range tasks {
		if t.Finish != nil {
			p.settle(t, task.Released)
		}
	}
}

// split makes smaller parts, because the cause of the trouble is unknown.
func (p *Processor) split(pt *part, tr *trouble) []*part {
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
func (p *Processor) blame(pt *part, tr *trouble, d judge.Decision) step {
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
			pt.setBefore(f.Task) // its version must be compared with those that are committed with it
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
	return p.rest(pt)
}

// trouble is the reason why an attempt ended before its COMMIT had an answer.
type trouble struct {
	*execute.Trouble
	// part is the attempt's part.
	part *part
	// again says to claim the part again, without a decision.
	again bool
}
