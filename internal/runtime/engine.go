package runtime

import (
	"github.com/headrace/headrace/internal/attempt"
	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/outcome"
	"github.com/headrace/headrace/internal/runner"
	"github.com/headrace/headrace/internal/task"
)

// batchOptions are the options shared by live messages, the backlog and leased work.
func (r *Run) batchOptions() *batch.Options {
	rt := r.rt
	recorder := &outcome.Recorder{
		Store: rt.Store, Answers: rt.Store.Operations().Answers, Steps: rt.Store.Operations().Steps, Signals: rt.Store.Operations().Signals, DeadTopic: outcome.DeadTopic(rt.DeadLetterTopic, func(topic string, err error) {
			rt.Logger.Error("no copy of a dead letter: Config.DeadLetterTopic", "topic", topic, "error", err)
		}),
		Host: attempt.Host(), Build: rt.Build, Environment: rt.Environment, Redact: rt.Redact,
	}
	return &batch.Options{
		Recorder: recorder, Breaker: rt.Breaker, Guard: r.instance.start(r, recorder),
		Store: boundedStore{rt.Store, rt, r.deadline}, Runner: &runner.Runner{
			Grace: Grace, Sessions: &r.calls,
			Stuck: func(what any) { r.stuck(what.(task.Call)) },
			Returned: func(what any) {
				call := what.(task.Call)
				call.Returned()
				rt.left.Add(call, -1)
				h, _ := call.Of()
				r.alerts.Returned(h)
			},
		},
		MaxBatch: rt.MaxBatch, BatchTime: rt.BatchTime, StoreTimeout: storeTimeout, LockTimeout: lockTimeout,
		Versions: rt.Store.Operations().Versions, Wake: rt.Store.Outbox().Signal().Wake,
		Failed: rt.failed,
		Ended: func(t *task.Task, o task.Outcome) {
			rt.Counters.Backlog[o].Add(1)
			r.alerts.Outcome(o)
			rt.Store.Backlog().Signals.Ended(t.ID())
		},
		Fatal: r.fail,
	}
}

// stuck counts and reports a call that was abandoned.
func (r *Run) stuck(call task.Call) {
	r.rt.left.Add(call, 1)
	h, _ := call.Of()
	r.alerts.Stuck(h)
}

// failed counts and logs a failure.
func (rt *Runtime) failed(f *outcome.Failure) {
	rt.Counters.Failed.Add(1)
	rt.failures.Failed(f)
}

func (r *Run) breakerChanged(cause error) {
	if log := r.rt.Logger; cause != nil {
		log.Error("the database cannot run our statements; messages wait until it can, and no attempt is spent", "error", encode.Said(cause))
	} else {
		log.Info("the database runs our statements again; messages are handled")
	}
	r.alerts.Pausing("")
}

func (r *Run) backlogState(err error) {
	if r.Stopping.Err() != nil {
		return // the error may come from its context
	}
	failed := r.backlogFails
	if r.backlogFails = err != nil; err == nil {
		r.rt.Breaker.OK()
	} else if !failed {
		r.rt.Breaker.Fail(err)
	}
}

func (rt *Runtime) unknownHandler(name string) {
	rt.Logger.Warn("the backlog holds a message for a handler that is not registered here; it waits there", "handler", name)
}
