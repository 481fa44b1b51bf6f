package runtime

import (
	"context"
	"sync"
	"time"

	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/crashguard"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/outcome"
	"github.com/headrace/headrace/internal/task"
)

// instanceRun is the instance of a run: its row, and its beating goroutine.
type instanceRun struct {
	rt    *Runtime
	self  instance.Instance
	guard *crashguard.Guard
	stop  context.CancelFunc
	beats sync.WaitGroup
}

// start begins to beat, and returns the guard that isolates messages which may have ended
// an earlier instance. It does not wait for the database.
func (i *instanceRun) start(r *Run, o *outcome.Recorder) *crashguard.Guard {
	rt, operations := r.rt, r.rt.Store.Operations()
	i.rt = rt
	i.self = instance.Instance{ID: i.self.ID, Consumer: rt.Name, Host: o.Host, Build: o.Build, Environment: rt.Environment}
	for _, h := range rt.handlers {
		i.self.Handlers = append(i.self.Handlers, h.Name)
	}
	worked := rt.Telemetry.Measure()
	i.guard = crashguard.New(operations.Instances, operations.Marks, i.self, crashguard.Options{
		Pace: rt.pace, Process: rt.Process, Logger: rt.Logger, LeftBehind: func() bool { return rt.left.Count() > 0 },
		Work: func() instance.Work {
			return worked.Work(rt.Counters.Live[task.Applied].Load()+rt.Counters.Backlog[task.Applied].Load(), time.Now())
		},
		Schema: operations.Schema.Check, Fatal: r.fail,
	})
	rt.guard.Store(i.guard)
	ctx, stop := context.WithCancel(context.WithoutCancel(r.Stopping)) // it beats until all work has ended
	i.stop = stop
	i.beats.Go(func() { i.guard.Run(ctx) })
	return i.guard
}

// end records the end of the instance if no work is left. If work is left, or the
// database rejects it, other instances mark their messages for a short time.
func (i *instanceRun) end(inOrder bool) {
	log := i.rt.Logger
	i.stop()
	if !within(&i.beats, Grace) || !inOrder {
		log.Warn("the database did not answer in time: the next process marks its messages for a while")
		return
	}
	most := Grace
	if i.rt.Breaker.Err() != nil {
		most = time.Second
	}
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	err := atMost(most+Grace, "instance", func() error { return i.guard.End(ctx) })
	if err != nil {
		log.Warn("the end of this process could not be recorded: the next one marks its messages for a while", "error", encode.Said(err))
	}
}

// Marking reports whether messages are marked before they run.
func (rt *Runtime) Marking() bool {
	guard := rt.guard.Load()
	return guard == nil || guard.Marking()
}

// LeftBehind returns how many abandoned handlers have not returned.
func (rt *Runtime) LeftBehind() int { return rt.left.Count() }
