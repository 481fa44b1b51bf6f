package batch

import (
	"context"
	"sync"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/breaker"
	"github.com/headrace/headrace/internal/outcome"
	"github.com/headrace/headrace/internal/runner"
	"github.com/headrace/headrace/internal/sleep"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

// Store is the part of a store.Store that a Processor needs.
type Store interface {
	breaker.Store
	Commit(ctx context.Context, t *txn.Txn, events []outbox.Row) error
}

// Guard isolates messages that may end the process: see package internal/crashguard. It is safe for concurrent use.
type Guard interface {
	// Advises reports whether Advise must be called before messages run: some are marked,
	// or suspected. It costs almost nothing.
	Advises() bool
	// Advise says how each of the messages may run; nil means all together. It waits
	// until that is known, or until ctx ends.
	Advise(ctx context.Context, messages []inbox.ID) []Advice
	// Enter is called before messages run. It waits until they may run, or until ctx ends. alone says that they may
	// only run as the only work of this process. The caller calls leave when the transaction has ended; ran says that
	// their handlers, if any, have returned.
	Enter(ctx context.Context, messages []inbox.ID, alone bool) (leave func(ran bool), err error)
}

// Advice says how a message may run.
type Advice int

// The kinds of advice.
const (
	// Together: with others.
	Together Advice = iota
	// Alone: as the only work of this process.
	Alone
	// Later: another process may be running it.
	Later
	// Never: it has ended too many processes.
	Never
)

// Options are what the processors of a consumer share.
type Options struct {
	Store    Store
	Recorder *outcome.Recorder
	Runner   *runner.Runner
	Breaker  *breaker.Breaker
	// Guard isolates messages that may end the process; nil isolates none.
	Guard Guard
	// MaxBatch is the largest number of messages in a transaction; BatchTime how long its
	// handlers should take together.
	MaxBatch  int
	BatchTime time.Duration
	// StoreTimeout bounds our own statements of one transaction, including waits for rows that others hold.
	StoreTimeout time.Duration
	// LockTimeout bounds a batch's wait for keys that other transactions hold.
	LockTimeout time.Duration
	// Versions are for inbox.Newer, which fails if it is nil.
	Versions headrace.Versions
	// Wake is called when events were committed.
	Wake func()
	// Failed is called with each recorded failure, for logs and counters.
	Failed func(*outcome.Failure)
	// Ended is called with each row of the backlog that has its outcome.
	Ended func(t *task.Task, o task.Outcome)
	// Fatal is called with an error after which the consumer must stop.
	Fatal func(error)
}

// Processor brings messages to their outcomes. Its methods may be called concurrently.
type Processor struct {
	*Options
	// stopping ends when the consumer stops; then no new wait should begin. cancelled ends when handlers should stop.
	stopping, cancelled context.Context
	last                func() time.Time // the deadline of all remaining work after the drain time
	memory              outcome.Memory
}

// New returns a processor. stopping ends when the consumer stops, cancelled when its drain time is over.
func New(stopping, cancelled context.Context, o *Options) *Processor {
	last := sync.OnceValue(func() time.Time { return time.Now().Add(o.Runner.Grace) })
	return &Processor{Options: o, stopping: stopping, cancelled: cancelled, last: last}
}

// restTime is how long to leave a message alone that another transaction or process works on.
const restTime = 500 * time.Millisecond

// Room returns how many messages of h the next transaction should hold.
func (p *Processor) Room(h *task.Handler) int {
	switch {
	case h.Intake:
		return p.MaxBatch
	case h.Alone:
		return 1
	}
	return h.Pace.Room(p.MaxBatch, p.BatchTime)
}

// Process begins to bring deliveries of one handler, or of several with Intake, to an outcome. The
// caller calls Next of the job until it returns nil. It waits while the store is away.
func (p *Processor) Process(tasks []*task.Task) *Job {
	task.InOrder(tasks)
	j := &Job{p: p, c: &live{p}, await: p.await, tasks: make([]*task.Task, 0, len(tasks))}
	for _, t := range tasks {
		if t.Context != nil && t.Context.Err() != nil { // the broker gave it to another consumer
			p.settle(t, task.Released)
			continue
		}
		j.tasks = append(j.tasks, t)
	}
	if len(j.tasks) > 0 && j.tasks[0].Handler.Intake {
		j.c = &intake{live{p}}
	}
	j.parts = []*part{{tasks: j.tasks}}
	return j
}

// await waits until the store works again; false if the consumer stops first.
func (p *Processor) await(err error) bool {
	for {
		// If the consumer stops, the error may come from its context, not from an outage.
		if p.stopping.Err() != nil || !sleep.For(p.stopping, p.Breaker.Fail(err)) {
			return false
		}
		down := breaker.Ping(p.stopping, p.Store)
		if down == nil {
			return true
		}
		err = down
	}
}

// settle ends a task with its outcome.
func (p *Processor) settle(t *task.Task, o task.Outcome) {
	p.memory.Forget(t)
	t.End(o.String())
	t.TellLetter(o)
	if t.Finish != nil {
		t.Finish(o)
		return
	}
	t.Handler.Telemetry.BacklogEnded(int(o))
	p.Ended(t, o)
}

// begin begins a transaction, also while the consumer drains.
func (p *Processor) begin() (*txn.Txn, error) {
	ctx, cancel := context.WithTimeout(p.stopping, p.StoreTimeout)
	switch {
	case p.cancelled.Err() != nil: // all remaining work shares one deadline
		cancel()
		ctx, cancel = context.WithDeadline(context.WithoutCancel(p.cancelled), p.last())
	case p.stopping.Err() != nil: // draining: finish the work under way
		cancel()
		ctx, cancel = context.WithTimeout(context.WithoutCancel(p.cancelled), p.StoreTimeout)
	}
	defer cancel()
	return p.Store.Begin(ctx)
}

// Own returns a context for our own statements, which a stop does not cancel.
func (p *Processor) Own() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(p.cancelled), p.StoreTimeout)
}

// limits are the server's limits for a transaction of handlers that may run for timeout.
func (p *Processor) limits(timeout time.Duration) txn.Limits {
	l := txn.Limits{Idle: timeout + p.Runner.Grace + idleMargin}
	// A little before the handler's own deadline: a driver whose context ends during a
	// statement drops the connection, and the work of the other messages with it.
	if l.Statement = timeout - min(timeout/10, time.Second); l.Statement < leastStatement {
		l.Statement = 0 // our own statements must not be cancelled
	}
	return l
}

const (
	idleMargin     = 5 * time.Second
	leastStatement = time.Second
)
