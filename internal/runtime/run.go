package runtime

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/dispatch"
	"github.com/headrace/headrace/internal/drain"
	"github.com/headrace/headrace/internal/lease"
	"github.com/headrace/headrace/internal/maintenance"
	"github.com/headrace/headrace/internal/pause"
	"github.com/headrace/headrace/internal/reporting"
	"github.com/headrace/headrace/internal/systems"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/internal/telemetry"
	"github.com/headrace/headrace/ledger/resolve"
)

// Run is a Runtime while it runs.
type Run struct {
	rt *Runtime
	// Stopping ends when the consumer should stop, cancelled when its drain time is over.
	// Subscribed outlives both until everything taken has been settled, or a Subscribe
	// hangs, because some adapters drop their deliveries when it ends. deadline ends when
	// waits for the database are cut off.
	Stopping, cancelled, Subscribed, deadline context.Context

	stop                     context.CancelCauseFunc
	cancel, unsubscribe, cut context.CancelFunc

	// Budget bounds the deliveries in flight. Receivers are the goroutines that read
	// sources, Taken the messages that a Router has.
	Budget           *dispatch.Budget
	Receivers, Taken sync.WaitGroup

	alerts   *reporting.Reporter
	local    localDelivery
	instance instanceRun
	gauges   *telemetry.Watch
	upkeep   *telemetry.Upkeep
	leave    func(time.Duration) error // the shared relay; later calls do nothing
	leaving  sync.WaitGroup            // a leave beside work that does not end; its error is left
	left     error
	forget   func() // that the process runs this consumer
	backlog  *drain.Drain

	backlogFails bool           // the backlog's drain says so
	workers      sync.WaitGroup // batches and the backlog's drain
	calls        sync.WaitGroup // goroutines inside user functions
	nacks        sync.WaitGroup
}

// Run handles messages until ctx ends, or until an error that only a person can fix: see
// consumer.Consumer.
func (rt *Runtime) Run(ctx context.Context) error {
	r, err := rt.Start(ctx)
	if err != nil {
		return err
	}
	r.StartBacklog()
	for _, h := range rt.handlers {
		for _, in := range h.inlets() {
			r.Receivers.Go(func() { r.receive(h, in) })
		}
	}
	<-r.Stopping.Done()
	stopped := r.Finish()
	cause := context.Cause(r.Stopping)
	if ctx.Err() != nil && errors.Is(cause, context.Cause(ctx)) {
		cause = nil
	}
	if err := errors.Join(cause, stopped); err != nil {
		return fmt.Errorf("consumer %s: %w", rt.Name, err)
	}
	return nil
}

// Start starts the work on deliveries. Finish ends it.
func (rt *Runtime) Start(ctx context.Context) (*Run, error) {
	forget, err := rt.Process.Begin(rt.Store, rt.Name, task.Labels(rt.handlers))
	if err != nil {
		return nil, fmt.Errorf("consumer %s: %w", rt.Name, err)
	}
	r := &Run{rt: rt, upkeep: beginCounters(rt), Budget: dispatch.NewBudget(rt.MaxInFlight, rt.MaxInFlightBytes), forget: forget}
	r.Stopping, r.stop = context.WithCancelCause(ctx)
	r.cancelled, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	r.deadline, r.cut = context.WithCancel(context.WithoutCancel(ctx))
	r.Subscribed, r.unsubscribe = context.WithCancel(context.WithoutCancel(ctx))
	r.instance.self.ID = uuid.NewString()
	r.alerts = newReporter(rt, r.instance.self.ID, func(sink string, kind alerts.Kind, ok bool) { r.upkeep.Alerts(sink, string(kind), ok, 1) })
	rt.Breaker.OnChange = r.breakerChanged
	rt.Subscriptions.OnChange, rt.Subscriptions.OnRefusal = r.alerts.Sources, r.alerts.Refusal
	rt.Pause.OnChange = func() { r.alerts.Pausing("a person resumed the consumer, and it takes messages again") }
	if err := r.startRelay(); err != nil {
		r.end()
		return nil, fmt.Errorf("consumer %s: %w", rt.Name, errors.Join(err, r.alerts.Close(Grace)))
	}
	r.startWorkers()
	rt.running.Store(true)
	return r, nil
}

func (r *Run) end() {
	r.forget()
	r.stop(nil)
	r.cancel()
	r.cut()
	r.unsubscribe()
}

func (r *Run) startWorkers() {
	rt := r.rt
	r.startPruning()
	r.workers.Go(func() { rt.failures.Run(r.Stopping) })
	options := r.batchOptions()
	p := batch.New(r.Stopping, r.cancelled, options)
	r.local.start(r, options)
	leases := &lease.Options{
		Processor: p, Guard: rt.Process, Paused: rt.Pause.Paused, Stopping: r.Stopping, Cancelled: r.cancelled,
		Systems: systems.New(rt.Systems, rt.Store.Operations().Systems), Steps: rt.Store.Operations().Steps, Signals: rt.Store.Operations().Signals,
		Suspect: rt.Store.Operations().Suspect, Memos: rt.Store.Operations().Memos, Wake: r.alerts.Watch.Wake, Redact: rt.Redact, Logger: rt.Logger, Arrived: resolve.New(rt.Store).Arrived,
	}
	r.startDispatch(p)
	var registered []*task.Handler
	workers := 0
	for _, h := range rt.handlers {
		registered = append(registered, h.Handler)
		if h.Leased == nil {
			workers += h.Concurrency
			continue
		}
		h.lease = lease.New(h.Handler, leases)
		r.workers.Go(func() {
			if r.local.wait(r.Stopping) && r.instance.guard.Started(r.Stopping) {
				h.lease.Run()
			}
		})
	}
	workers = min(max(workers, 1), backlog.Shards)
	w := batch.NewWorker(p, batch.WorkerOptions{
		Consumer: rt.Name, Handlers: registered, Bytes: rt.MaxInFlightBytes / int64(workers),
		Leased: func(name string) { rt.handler(name).lease.Wake() }, Unknown: rt.unknownHandler,
	})
	r.workers.Go(func() { w.Tidy(r.Stopping) })
	watch := &pause.Watch{State: rt.Pause, Breaker: rt.Breaker, Ping: rt.Store.Ping, Every: rt.pace.Look, Logger: rt.Logger}
	r.workers.Go(func() { watch.Run(r.Stopping) })
	r.workers.Go(func() {
		maintenance.Run(r.Stopping, maintenance.Options{
			Store: rt.Store, Instance: r.instance.self, Handlers: registered, Paused: rt.Pause.Paused,
			Actions: r.actions(registered), Upkeep: r.upkeep, Watch: r.alerts.Watch, Logger: rt.Logger,
		})
	})
	r.backlog = drain.New(pause.Line{Line: w, Paused: func() bool { return rt.Pause.Paused() || rt.Refused() != nil }}, drain.Options{
		Workers: workers, Wake: rt.Store.Backlog().Signals.C(rt.Name), OnState: r.backlogState, MinPoll: backlogPoll,
	})
}

// startDispatch starts the workers of deliveries. What goes into the backlog first shares
// them, whatever its handler: few transactions then hold many messages.
func (r *Run) startDispatch(p *batch.Processor) {
	inflight := dispatch.NewInflight()
	process := func(tasks []*task.Task) dispatch.Batch { return p.Process(tasks) }
	var intake *dispatch.Dispatcher
	takers := 0
	for _, h := range r.rt.handlers {
		started := 0
		if h.dispatch = dispatch.New(inflight, p.Room(h.Handler)); h.Intake {
			if intake == nil {
				intake = h.dispatch
			}
			h.dispatch, started = intake, takers
			takers = max(takers, h.Concurrency)
		}
		for range h.Concurrency - started {
			next := h.dispatch.Worker(r.Stopping, func() int { return p.Room(h.Handler) }, process)
			r.workers.Go(func() { p.Runner.Work(r.cancelled, next) })
		}
	}
}

// backlogPoll is the least time between two looks at the backlog. Rows that come meanwhile,
// as retries do, share a transaction.
const backlogPoll = 20 * time.Millisecond

// StartBacklog begins to work the backlog off. It is called once, before Finish.
func (r *Run) StartBacklog() {
	r.workers.Go(func() {
		if r.local.wait(r.Stopping) {
			r.backlog.Run(r.Stopping)
		}
	})
}

// Stop makes the consumer stop.
func (r *Run) Stop() { r.stop(nil) }

// fail stops the consumer because of err.
func (r *Run) fail(err error) {
	r.rt.Fail(err)
	r.stop(err)
}
