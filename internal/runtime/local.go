package runtime

import (
	"context"

	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/local"
	"github.com/headrace/headrace/internal/task"
)

// Local returns the handlers that get events of the outbox. Those of a Router have no Topic.
func (rt *Runtime) Local() (list []*Handler) {
	for _, h := range rt.handlers {
		if h.Source == nil && h.Topic != "" {
			list = append(list, h)
		}
	}
	return list
}

// localDelivery delivers the outbox's events to the local handlers of a run.
type localDelivery struct {
	subscribed chan struct{} // closed when the handlers are subscribed, or there are none
}

// start begins, if there are local handlers.
func (d *localDelivery) start(r *Run, o *batch.Options) {
	d.subscribed = make(chan struct{})
	rt, handlers := r.rt, r.rt.Local()
	if len(handlers) == 0 {
		close(d.subscribed)
		return
	}
	options := local.Options{
		Store: o.Store, Sink: rt.Sink != nil, Subscriptions: rt.Store.Operations().Subscriptions, Consumer: rt.Name,
		StoreTimeout: storeTimeout, Recorder: o.Recorder, Logger: rt.Logger, Beside: rt.Beside, Stranded: &rt.stranded,
	}
	for _, h := range handlers {
		options.Handlers = append(options.Handlers, h.Handler)
	}
	options.Subscribed = func() {
		for _, h := range handlers {
			h.sub.Set("local")
		}
		close(d.subscribed)
	}
	options.Settled = func(outcome task.Outcome) {
		rt.Counters.Delivered.Add(1)
		rt.Counters.Live[outcome].Add(1)
		r.alerts.Outcome(outcome)
	}
	r.workers.Go(func() {
		// Only a process whose instance is recorded has subscriptions, so that none of its
		// are removed.
		if r.instance.guard.Started(r.Stopping) {
			local.New(options).Run(r.Stopping)
		}
	})
}

// wait waits until the local handlers are subscribed, so that they get the events of all
// work that begins now. It reports false if ctx ended.
func (d *localDelivery) wait(ctx context.Context) bool {
	select {
	case <-d.subscribed:
		return true
	case <-ctx.Done():
		return false
	}
}
