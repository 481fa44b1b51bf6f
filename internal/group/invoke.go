package group

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sort"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/attempt"
	"github.com/headrace/headrace/internal/telemetry"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/txn"
)

// ErrStuck matches the failure of a handler that went on after its deadline and a
// grace; its goroutine was left behind.
var ErrStuck = errors.New("handler did not return after its deadline")

// ErrRefused matches the error of a Handler.Run that runs nothing, because the program is
// put together wrongly: no attempt is spent, deliveries are released, and rows of the
// backlog stay. Nothing keeps them from being run again but the caller.
var ErrRefused = errors.New("the handler is not run")

// BatchFailure names the tasks of a batch that failed, by their index. The
// consumer's BatchError is one.
type BatchFailure interface {
	error
	FailedAt() map[int]error
}

// invoked is what a run of a group's handlers gave.
type invoked struct {
	events   []outbox.Row
	failures []failure
	// unclear says that a batch handler failed without saying which of several
	// tasks it meant.
	unclear error
	// abandoned says that a handler still uses the transaction.
	abandoned bool
}

// byOrder sorts tasks by order key, stably within a key, so that groups which run
// at once touch the user's rows in one order.
func byOrder(tasks []*Task) {
	sort.SliceStable(tasks, func(i, j int) bool {
		return tasks[i].Delivery.OrderKey < tasks[j].Delivery.OrderKey
	})
}

// call is one call of the user's function, and what came of it.
type call struct {
	tasks  []*Task
	inputs []Input
	values context.Context // the delivery's; may be nil
	tx     *headrace.Tx
	err    error
	stack  []byte
	took   time.Duration
	run    atomic.Pointer[telemetry.Run] // its span
}

// invoke runs the handler for tasks in t and stops at the first failure.
func (e *Engine) invoke(t *txn.Txn, tasks []*Task) invoked {
	p := &progress{calls: e.calls(t, tasks), done: make(chan struct{})}
	p.began.Store(int64(time.Since(epoch)))
	e.h.Telemetry.Group(len(tasks))
	e.o.Handlers.Add(1)
	go e.runAll(p)
	stuck := e.await(p)
	p.hand()
	if stuck != nil {
		return e.abandon(stuck)
	}
	var out invoked
	n := 0
	for _, c := range p.calls {
		n += len(c.tx.Events())
	}
	out.events = make([]outbox.Row, 0, n)
	for _, c := range p.calls {
		if c.err != nil {
			out.failures, out.unclear = blame(c)
			return out
		}
		for _, event := range c.tx.Events() {
			out.events = append(out.events, outbox.RowOf(event))
		}
	}
	return out
}

// abandon leaves the goroutine in c behind.
func (e *Engine) abandon(c *call) invoked {
	_ = c.tx.Close()
	e.leftBehind(c)
	e.o.Stuck(e.h, len(c.tasks))
	err := fmt.Errorf("%w: %s after the start", ErrStuck, e.h.Timeout+e.o.Grace)
	if e.hard.Err() != nil { // left behind by a stop: no failure of the message
		err = fmt.Errorf("%w: %w", ErrStuck, context.Canceled)
	}
	if len(c.tasks) > 1 {
		return invoked{abandoned: true, unclear: err}
	}
	return invoked{abandoned: true, failures: []failure{{task: c.tasks[0], err: err, took: e.h.Timeout}}}
}

// calls prepares one call for each task, or one for all of a batch handler.
func (e *Engine) calls(t *txn.Txn, tasks []*Task) []*call {
	inputs := make([]Input, len(tasks))
	for i, task := range tasks {
		inputs[i] = task.input(e.h)
	}
	o := headrace.TxOptions{Alone: e.h.Alone, Encode: e.h.Encode, Scope: e.h.Scope, Versions: e.o.Versions}
	if e.h.Batch {
		return []*call{{tasks: tasks, inputs: inputs, values: tasks[0].Context, tx: headrace.NewTx(t, o)}}
	}
	calls := make([]*call, len(tasks))
	for i, task := range tasks {
		o.Trace = task.Delivery.Trace
		calls[i] = &call{tasks: tasks[i : i+1], inputs: inputs[i : i+1], values: task.Context, tx: headrace.NewTx(t, o)}
	}
	return calls
}

// progress is a run of a group's calls on a goroutine of its own, watched by another
// one: a signal for each call would cost more than most handlers do.
type progress struct {
	calls   []*call
	current atomic.Int32 // the call that runs; set after began, read before it
	began   atomic.Int64 // when it did, since epoch
	end     atomic.Int32 // running, finished or left
	done    chan struct{}
}

// The ends of a progress.
const (
	running  = iota
	finished // the calls returned
	left     // nobody waits any more
)

var epoch = time.Now()

// await waits until the calls have ended, and returns the one that went on after its
// deadline and a grace; nil if there was none.
//
// Once the consumer's drain time is over the contexts have ended: then a grace from
// there is all that a call has, whatever its deadline was.
func (e *Engine) await(p *progress) *call {
	limit := e.h.Timeout + e.o.Grace
	timer := time.NewTimer(limit)
	defer timer.Stop()
	cut, last := e.hard.Done(), time.Time{}
	for {
		select {
		case <-p.done:
			return nil
		case <-cut:
			cut, last = nil, time.Now().Add(e.o.Grace)
		case <-timer.C:
		}
		current := p.current.Load()
		rest := limit - (time.Since(epoch) - time.Duration(p.began.Load()))
		if !last.IsZero() {
			rest = min(rest, time.Until(last))
		}
		if rest <= 0 && p.end.CompareAndSwap(running, left) {
			return p.calls[current]
		}
		timer.Reset(max(rest, time.Millisecond)) // finished: done is about to be closed
	}
}

// runAll makes the calls one after the other until one fails, on a goroutine of its
// own, so that a handler that hangs or exits its goroutine takes no worker along.
func (e *Engine) runAll(p *progress) {
	defer e.o.Handlers.Done()
	defer close(p.done)
	defer func() {
		if !p.end.CompareAndSwap(running, finished) {
			e.o.Returned(e.h, len(p.calls[p.current.Load()].tasks))
		}
	}()
	var current *call
	defer func() {
		if current != nil { // runtime.Goexit
			current.err = retry.ErrGoexit
			e.returned(current)
		}
	}()
	for i, c := range p.calls {
		if p.end.Load() == left {
			return
		}
		current = c
		start := time.Now()
		p.began.Store(int64(start.Sub(epoch)))
		p.current.Store(int32(i))
		c.stack, c.err = e.contain(c, i == 0)
		c.took = time.Since(start)
		current = nil
		e.returned(c)
		if c.err != nil {
			return
		}
	}
}

// contain calls the user's function under a fresh context with the handler's
// deadline, and turns a panic into an error.
func (e *Engine) contain(c *call, first bool) (stack []byte, err error) {
	parent := e.hard
	if c.values != nil {
		parent = valuesOf{e.hard, c.values}
	}
	parent = e.observed(parent, c, first)
	ctx, cancel := context.WithTimeout(parent, e.h.Timeout)
	defer cancel()
	returned := false
	defer func() {
		bad := c.tx.Close()
		if returned {
			if err == nil {
				err = bad
			}
			return
		}
		if v := recover(); v != nil {
			stack = debug.Stack()
			err = &retry.PanicError{Value: v, Stack: stack}
		}
	}()
	err = e.h.Run(ctx, c.tx, c.inputs)
	returned = true
	return nil, attempt.Ended(ctx, sound(err))
}

// sound returns err, or a PanicError where its methods panic, as those of a nil
// pointer in an error do: whoever decides on err calls them where nobody recovers.
func sound(err error) error {
	p := attempt.Probe(err, func(err error) {
		for _, one := range append(blamed(err), err) {
			_ = errors.Is(one, inbox.ErrStale)
			_ = retry.Classify(one)
			_ = txn.Classify(one)
		}
	})
	if p != nil {
		return &retry.PanicError{Value: p.Value, Stack: p.Stack}
	}
	return err
}

// blamed returns the errors of a BatchFailure.
func blamed(err error) (list []error) {
	var batch BatchFailure
	if errors.As(err, &batch) {
		for _, one := range batch.FailedAt() {
			list = append(list, one)
		}
	}
	return list
}

// valuesOf ends with one context and has the values of another, so that the end of
// a subscription does not end work that is under way.
type valuesOf struct {
	context.Context
	values context.Context
}

// Value implements context.Context.
func (v valuesOf) Value(key any) any {
	if value := v.Context.Value(key); value != nil {
		return value
	}
	return v.values.Value(key)
}

// blame says whose failure c is, in the order of the tasks.
func blame(c *call) ([]failure, error) {
	var batch BatchFailure
	if len(c.tasks) > 1 && errors.As(c.err, &batch) {
		var list []failure
		failed := batch.FailedAt()
		for i, task := range c.tasks {
			err, ok := failed[i]
			if err == nil {
				err = c.err
			}
			if ok {
				list = append(list, failure{task: task, err: err, took: c.took})
			}
		}
		if len(list) > 0 {
			return list, nil
		}
	}
	if len(c.tasks) > 1 {
		return nil, c.err
	}
	err := c.err
	if errors.As(err, &batch) {
		if only := batch.FailedAt()[0]; only != nil {
			err = only
		}
	}
	return []failure{{task: c.tasks[0], err: err, stack: c.stack, took: c.took}}, nil
}

// isStale reports whether the failure is the handler's word that it applied
// something newer.
func (f failure) isStale() bool { return errors.Is(f.err, inbox.ErrStale) }
