package group

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/telemetry"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

// Store is what an engine needs of a store.
type Store interface {
	Begin(ctx context.Context) (*txn.Txn, error)
	Commit(ctx context.Context, t *txn.Txn, events []outbox.Row) error
	Ping(ctx context.Context) error
	Inbox() inbox.Store
	Backlog() backlog.Tables
	Letters() dlq.Store
}

// Options are what the engines of a consumer share.
type Options struct {
	Gate     *Gate
	Inflight *Inflight
	// MaxBatch is the largest group; BatchTime how long the handlers of a group
	// should take together.
	MaxBatch  int
	BatchTime time.Duration
	// Patience bounds our own statements of one transaction, waits for rows that others
	// hold included.
	Patience time.Duration
	// Grace is how long a handler may go on after its deadline.
	Grace time.Duration
	// LockTimeout bounds a group's wait for keys held elsewhere.
	LockTimeout time.Duration
	// DeadTopic names the topic for the copy of a dead letter; "" means no copy.
	DeadTopic func(topic string) string
	Host      string
	Build     string
	// Alerts are appended to beside each letter; nil means none.
	Alerts alerts.Appender
	// Versions are what inbox.Newer asks; nil refuses it.
	Versions headrace.Versions
	// Care says how carefully messages are to be run; nil means not at all.
	Care Care
	// Wake is told that events were committed.
	Wake func()
	// Failed is told of each failed run, for logs and counters: the error's words
	// are the handler's and are not for logs.
	Failed func(h *Handler, t *Task, f dlq.Failure, class string, took time.Duration, o Outcome, again bool)
	// Drained is told of each backlog row that came to an outcome.
	Drained func(h *Handler, o Outcome)
	// Stuck is told of a handler that was left behind and of how many messages it had,
	// Returned of one that came back after that.
	Stuck, Returned func(h *Handler, messages int)
	// Held says that leased handlers are to begin nothing; nil means never.
	Held func() bool
	// Fatal is told of an error after which the consumer must stop.
	Fatal func(error)
	// Handlers counts the goroutines that run handlers.
	Handlers *sync.WaitGroup
}

// Engine runs the handler h for groups of tasks. Process and the methods of Line may
// be called concurrently.
type Engine struct {
	st    Store
	h     *Handler
	o     *Options
	queue *Queue
	// soft ends when no more waiting should be begun, hard when handlers should stop.
	soft, hard context.Context
	last       lastCall
	// leaser hands out the work of a leased handler; nil for any other.
	leaser *leaser

	shrink  atomic.Int64 // groups to run small after a deadlock
	perTask atomic.Int64 // running mean of a task's time in its group, in ns
}

// NewEngine returns an engine. soft ends when the consumer is told to stop, hard
// when its drain time is over.
func NewEngine(soft, hard context.Context, st Store, h *Handler, o *Options) *Engine {
	batch := o.MaxBatch
	if h.Alone && !h.Intake {
		batch = 1
	}
	e := &Engine{st: st, h: h, o: o, queue: NewQueue(batch), soft: soft, hard: hard}
	if h.Leased != nil {
		e.leaser = newLeaser(e)
	}
	return e
}

// pingTime bounds a ping.
const pingTime = 2 * time.Second

// MaxReruns is how often a task is run again for nothing, after a deadlock or a
// lost connection, before that counts as an attempt.
const maxReruns = 2

// shrunk is the size of groups, and how many of them, after a deadlock.
const (
	shrunkSize   = 4
	shrunkGroups = 32
)

// Add brings a delivery in. A second delivery of a message that is on its way
// waits behind the first.
func (e *Engine) Add(t *Task) {
	e.h.Telemetry.Delivered(&t.Delivery)
	e.enter(t)
}

func (e *Engine) enter(t *Task) {
	if e.o.Inflight.Enter(t) && !e.queue.Push(t) {
		e.settle(t, Released)
	}
}

// Work takes groups from the queue and processes them until the queue is closed.
func (e *Engine) Work() {
	for tasks := e.queue.Take(e.limit); tasks != nil; tasks = e.queue.Take(e.limit) {
		if e.soft.Err() != nil { // nothing is begun any more
			e.queue.Done(tasks, nil, 0)
			e.release(tasks)
			continue
		}
		start := time.Now()
		again := e.process(tasks)
		for _, t := range e.queue.Done(tasks, again, time.Since(start)) {
			e.settle(t, Released)
		}
	}
}

// Stop closes the queue, and releases what nobody had begun.
func (e *Engine) Stop() {
	for _, t := range e.queue.Close() {
		e.settle(t, Released)
	}
}

// limit is the size of the next group of deliveries.
func (e *Engine) limit() int {
	if e.h.Intake {
		return e.o.MaxBatch
	}
	return e.room()
}

// room is the size of the next group that handlers run for.
func (e *Engine) room() int {
	if e.h.Alone {
		return 1
	}
	n := e.o.MaxBatch
	if e.shrink.Load() > 0 {
		e.shrink.Add(-1)
		n = min(n, shrunkSize)
	}
	if each := e.perTask.Load(); each > 0 {
		n = min(n, max(1, int(int64(e.o.BatchTime)/each)))
	}
	return n
}

// took feeds the running mean behind limit.
func (e *Engine) took(d time.Duration, tasks int) {
	each := int64(d) / int64(max(tasks, 1))
	old := e.perTask.Load()
	if old == 0 {
		old = each
	}
	e.perTask.Store(max(1, old+(each-old)/8))
}

// settle ends a task, and with it those that waited behind it.
func (e *Engine) settle(t *Task, o Outcome) {
	behind := e.o.Inflight.Leave(t)
	e.count(t, o)
	if t.Settle != nil {
		t.Settle(o)
	}
	for _, next := range behind {
		same := next.Delivery.Fingerprint == t.Delivery.Fingerprint
		if o != Released && o != Conflict && same && next.Bad == nil {
			e.count(next, Duplicate)
			if next.Settle != nil {
				next.Settle(Duplicate)
			}
			continue
		}
		e.enter(next)
	}
}

// process brings every task of a group to an outcome, except those that it returns:
// they are to be run again, each at the front of its lane, or released where the
// consumer stops.
func (e *Engine) process(tasks []*Task) (again []*Task) {
	byOrder(tasks)
	var good []*Task
	var bad []failure
	for _, t := range tasks {
		switch {
		case t.Context != nil && t.Context.Err() != nil: // the delivery is somebody else's by now
			e.settle(t, Released)
		case t.Bad != nil:
			bad = append(bad, failure{task: t, err: t.Bad})
		default:
			good = append(good, t)
		}
	}
	held := newHeld(tasks)
	for work := []unit{{verdicts: bad, tasks: good}}; len(work) > 0; {
		next := work[0]
		work = work[1:]
		e.pronounce(next.verdicts, held)
		next.tasks = held.split(next.tasks)
		if len(next.tasks) == 0 {
			continue
		}
		if e.hard.Err() != nil {
			held.add(next.tasks)
			continue
		}
		more, again := e.stepWithCare(next, held)
		held.add(again)
		work = append(more, work...)
	}
	return held.again()
}

// unit is what a group has still to do: verdicts to write, and then tasks to run in
// one transaction.
type unit struct {
	verdicts []failure
	tasks    []*Task
	guarded  bool // the claim: see Engine.try
}

// pronounce writes the verdicts, and holds the tasks that are to be run again. In
// strict mode there is no verdict on a task while an earlier one of its order key is
// held: that one would have to wait behind it in the backlog.
func (e *Engine) pronounce(failures []failure, held *held) {
	for _, f := range failures {
		if e.h.Strict && held.behind(f.task) {
			f.task.end(telemetry.RolledBack)
			held.add([]*Task{f.task})
			continue
		}
		outcome, rerun := e.verdict(f)
		if rerun || outcome == Released {
			f.task.end(telemetry.RolledBack) // unless the verdict said more
			held.add([]*Task{f.task})
			continue
		}
		e.settle(f.task, outcome)
	}
}

func (e *Engine) release(tasks []*Task) {
	for _, t := range tasks {
		e.settle(t, Released)
	}
}

// step runs a group once. It returns what to run next, and what to give back to
// the queue.
func (e *Engine) step(tasks []*Task, guarded bool) (next []unit, again []*Task) {
	start := time.Now()
	var r result
	if e.h.Intake {
		r = e.takeIn(tasks)
	} else {
		r = e.try(tasks, guarded)
		undone(tasks, r)
	}
	switch {
	case r.err == nil && len(r.failures) == 0:
		e.o.Gate.OK()
		if !e.h.Intake && len(r.busy) == 0 { // what the handlers take shows in the drain
			e.took(time.Since(start), len(tasks))
		}
		for _, t := range r.busy { // or each group would wait for its key again
			t.rest = restTime
		}
		for _, s := range r.settled {
			e.settle(s.task, s.outcome)
		}
		return nil, r.busy
	case len(r.failures) > 0:
		return e.judge(tasks, r.failures)
	case r.refused:
		e.release(tasks)
		return nil, nil
	case errors.Is(r.err, inbox.ErrSwitched):
		e.o.Fatal(fmt.Errorf("handler %s: %w", e.h.Scope, r.err))
		return nil, tasks
	case errors.Is(r.err, errGuarded):
		return []unit{{tasks: tasks, guarded: true}}, nil
	case errors.Is(r.err, errSingly):
		return singly(tasks), nil
	default:
		return e.hold(tasks, r.err)
	}
}

// hold waits after an infrastructure failure, and has the group run again.
func (e *Engine) hold(tasks []*Task, err error) (next []unit, again []*Task) {
	for {
		// Where the consumer stops, what failed may be the end of its context, no outage.
		if e.soft.Err() != nil || !sleep(e.soft, e.o.Gate.Fail(err)) {
			return nil, tasks
		}
		ctx, cancel := context.WithTimeout(e.soft, pingTime)
		down := e.st.Ping(ctx)
		cancel()
		if down == nil {
			return []unit{{tasks: tasks}}, nil
		}
		err = down
	}
}

// judge has the verdicts on the failed tasks written, and the others run again
// without them and without the later tasks of their order keys.
//
// In strict mode the earlier tasks of a culprit's order key run before the verdict:
// once it waits in the backlog, they would have to wait behind it.
func (e *Engine) judge(tasks []*Task, failures []failure) (next []unit, again []*Task) {
	failed := make(map[*Task]bool, len(failures))
	for _, f := range failures {
		failed[f.task] = true
	}
	var rest []*Task
	behind := make(map[string]bool)
	for _, t := range tasks {
		switch key := t.Delivery.OrderKey; {
		case failed[t]:
			behind[key] = key != ""
		case behind[key]:
			again = append(again, t)
		default:
			rest = append(rest, t)
		}
	}
	failures, doubtful := staleTogether(tasks, failures)
	if e.h.Strict {
		next = []unit{{tasks: rest}, {verdicts: failures}}
	} else {
		next = []unit{{verdicts: failures}, {tasks: rest}}
	}
	return append(next, doubtful...), again
}

func singly(tasks []*Task) []unit {
	each := make([]unit, len(tasks))
	for i := range tasks {
		each[i].tasks = tasks[i : i+1]
	}
	return each
}
