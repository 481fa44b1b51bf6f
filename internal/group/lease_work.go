package group

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/attempt"
	"github.com/headrace/headrace/internal/telemetry"
	"github.com/headrace/headrace/retry"
)

// work brings a leased task to an outcome, or gives its lease back.
func (l *leaser) work(w *work) {
	for {
		f := l.turn(w)
		if f == nil {
			return
		}
		if cancelled(w, f.err) {
			l.giveBack(w.task)
			return
		}
		outcome, again := l.e.verdict(*f)
		switch {
		case outcome == Released && !again, again && w.stuck, again && w.ctx.Err() != nil:
			l.giveBack(w.task)
			return
		case !again:
			l.e.drained(w.task, outcome)
			return
		}
	}
}

// cancelled reports whether the work failed because its lease or the consumer ended:
// that is nobody's failure.
func cancelled(w *work, err error) bool {
	return w.ctx.Err() != nil && errors.Is(err, context.Canceled)
}

// turn does the work once and commits it. It returns the failure, or nil where the task
// has come to an end.
func (l *leaser) turn(w *work) *failure {
	task := w.task
	if task.Body, task.Bad = l.e.h.decode(&task.Delivery); task.Bad != nil {
		return &failure{task: task, err: task.Bad}
	}
	r := l.run(w)
	l.observe(task, r)
	if r.err != nil {
		return &failure{task: task, err: r.err, stack: r.stack, took: r.took}
	}
	task.effects = r.effects
	outcome, f := l.e.finishLeased(task)
	task.effects = nil
	if f != nil {
		f.took += r.took
		return f
	}
	if outcome == Released {
		l.giveBack(task)
		return nil
	}
	l.e.drained(task, outcome)
	return nil
}

// leasedRun is a call of the user's function, and what came of it.
type leasedRun struct {
	effects headrace.Effects
	span    *telemetry.Run
	err     error
	stack   []byte
	took    time.Duration

	end  atomic.Int32 // running, finished or left
	done chan struct{}
}

// run calls the user's function on a goroutine of its own, under the handler's deadline
// and the lease. One that goes on after the end of its context and a grace is left
// behind, with its slot; what it returns then is dropped.
func (l *leaser) run(w *work) *leasedRun {
	ctx, cancel := context.WithTimeout(w.ctx, l.o.Timeout)
	defer cancel()
	r := &leasedRun{done: make(chan struct{})}
	in := Input{Delivery: w.task.Delivery, Body: w.task.Body}
	ctx, _, r.span = l.e.h.Telemetry.Start(ctx, &w.task.Delivery, nil, true)
	l.e.o.Handlers.Add(1)
	go l.call(ctx, r, in)
	select {
	case <-r.done:
		return r
	case <-ctx.Done():
	}
	patience := time.NewTimer(l.e.o.Grace)
	defer patience.Stop()
	select {
	case <-r.done:
		return r
	case <-patience.C:
	}
	if !r.end.CompareAndSwap(running, left) {
		<-r.done
		return r
	}
	w.stuck = true
	l.e.o.Stuck(l.e.h, 1)
	return &leasedRun{span: r.span, err: fmt.Errorf("%w: %w", ErrStuck, ctx.Err()), took: l.o.Timeout}
}

func (l *leaser) call(ctx context.Context, r *leasedRun, in Input) {
	defer l.e.o.Handlers.Done()
	defer close(r.done)
	defer func() {
		if !r.end.CompareAndSwap(running, finished) {
			l.e.o.Returned(l.e.h, 1)
			<-l.slots
		}
	}()
	start := time.Now()
	r.err = retry.ErrGoexit
	defer func() { r.took = time.Since(start) }()
	p, err := attempt.Catch(func() (err error) {
		r.effects, err = l.o.Work(ctx, in)
		return err
	})
	if p != nil {
		r.stack, r.err = p.Stack, &retry.PanicError{Value: p.Value, Stack: p.Stack}
		return
	}
	r.err = attempt.Ended(ctx, sound(err))
}

// observe records that the work came back. Its span ends with the verdict where it
// failed; the effects have one of their own.
func (l *leaser) observe(task *Task, r *leasedRun) {
	r.span.Returned()
	class := ""
	if r.err != nil {
		class = string(retry.Classify(r.err))
	}
	l.e.h.Telemetry.Took(&task.Delivery, r.took, class)
	task.run = r.span
	if r.err == nil {
		task.end(telemetry.Worked)
	}
}
