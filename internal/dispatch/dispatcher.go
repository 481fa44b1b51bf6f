package dispatch

import (
	"context"
	"time"

	"github.com/headrace/headrace/internal/runner"
	"github.com/headrace/headrace/internal/task"
)

// Dispatcher brings deliveries to the workers of their handler, or of the handlers whose
// messages go into the backlog first. Its methods may be called concurrently.
type Dispatcher struct {
	inflight *Inflight
	queue    *Queue
}

// New returns a dispatcher whose largest batch is batch. inflight is shared by the handlers
// of a consumer.
func New(inflight *Inflight, batch int) *Dispatcher {
	return &Dispatcher{inflight: inflight, queue: NewQueue(batch)}
}

// Add adds a delivery. A second delivery of a message in flight waits behind the first.
// The worker that processes t calls t.Finish with its outcome, which settles it.
func (d *Dispatcher) Add(t *task.Task) {
	t.Handler.Telemetry.Delivered(&t.Delivery)
	t.Finish = func(o task.Outcome) { d.finish(t, o) }
	d.enter(t)
}

func (d *Dispatcher) enter(t *task.Task) {
	if d.inflight.Enter(t) && !d.queue.Push(t) {
		t.Finish(task.Released)
	}
}

// finish ends a task, and handles the deliveries of its message that waited behind it.
func (d *Dispatcher) finish(t *task.Task, o task.Outcome) {
	behind := d.inflight.Leave(t)
	d.settle(t, o)
	for _, next := range behind {
		same := next.Delivery.Fingerprint == t.Delivery.Fingerprint
		if o != task.Released && o != task.Conflict && same && next.Bad == nil {
			d.settle(next, task.Duplicate)
			continue
		}
		d.enter(next)
	}
}

func (d *Dispatcher) settle(t *task.Task, o task.Outcome) {
	t.End(o.String())
	t.Handler.Telemetry.Settled(int(o))
	if t.Settle != nil {
		t.Settle(o)
	}
}

// Batch is tasks that are being processed.
type Batch interface {
	// Next is for runner.Runner.Work.
	Next(lost *runner.Lost) func(*runner.Session)
	// Left returns the tasks to run again, each in its place, when Next has returned nil.
	Left() []*task.Task
}

// Worker returns what runner.Runner.Work runs: it takes batches of at most limit() tasks
// and has process begin with each, until the dispatcher is stopped. After stopping ends,
// it begins no more.
func (d *Dispatcher) Worker(stopping context.Context, limit func() int, process func([]*task.Task) Batch) func(*runner.Lost) func(*runner.Session) {
	var tasks []*task.Task
	var batch Batch
	var start time.Time
	done := func(again []*task.Task) {
		for _, t := range d.queue.Done(tasks, again, time.Since(start)) {
			t.Finish(task.Released)
		}
	}
	return func(lost *runner.Lost) func(*runner.Session) {
		for {
			if batch != nil {
				if run := batch.Next(lost); run != nil {
					return run
				}
				done(batch.Left())
				batch = nil
			}
			if lost, tasks = nil, d.queue.Take(limit); tasks == nil {
				return nil
			}
			if start = time.Now(); stopping.Err() != nil {
				done(tasks)
				continue
			}
			batch = process(tasks)
		}
	}
}

// Stop ends the workers, and releases the tasks that no worker has begun.
func (d *Dispatcher) Stop() {
	for _, t := range d.queue.Close() {
		t.Finish(task.Released)
	}
}
