package consumer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/headrace/headrace/internal/alerting"
	"github.com/headrace/headrace/internal/drain"
	"github.com/headrace/headrace/internal/group"
	"github.com/headrace/headrace/internal/telemetry"
)

// run is a Consumer while it runs.
type run struct {
	c *Consumer
	// soft ends when the consumer is to stop, hard when its drain time is over.
	// subscribed outlives both until everything taken has been settled, because some
	// adapters forget what they delivered when it ends.
	soft, hard, subscribed context.Context
	stop                   context.CancelCauseFunc
	cut, unsubscribe       context.CancelFunc
	over                   context.Context // ends when what waits for the database is cut off
	cutOff                 context.CancelFunc

	budget     *budget
	leave      func(context.Context) error // the shared relay; nil without a sink
	dispatcher *alerting.Dispatcher
	telling    sync.Mutex // see tellPause
	instance   running
	gauges     *telemetry.Watch
	rows       *alerting.Reader
	receivers  sync.WaitGroup
	workers    sync.WaitGroup // groups and the backlog's drain
	handlers   sync.WaitGroup // goroutines inside user functions
	left       map[string]int // messages of those left behind, by handler; guarded by c.mu
	nacks      sync.WaitGroup
	taken      sync.WaitGroup // messages that a Router has
}

// Run handles messages until ctx ends, or something happens that only a person can
// mend; it returns that cause, and nil when ctx ended. It blocks meanwhile, and
// returns when every goroutine that it started has ended, except handlers that
// ignore their context, a Source whose Subscribe does, and statements without an answer
// on connections that the store cannot reach (the error then matches ErrDrainTimeout;
// see package postgres for which those are).
//
// When ctx ends, nothing new is begun: what was not begun is given back to the
// broker, and what was begun has Config.DrainTimeout to finish. With a Sink or a route
// the relay then has as long. Where handlers ignore their context, or the network
// swallows what the database says, Run returns about a minute after those times at most. A
// consumer runs once.
func (c *Consumer) Run(ctx context.Context) (err error) {
	if c.router != nil {
		return fmt.Errorf("consumer %s: %w", c.name, errAttached)
	}
	if !c.started.CompareAndSwap(false, true) {
		return fmt.Errorf("consumer %s: %w", c.name, ErrRunning)
	}
	if err := c.mistakes.err(); err != nil {
		return fmt.Errorf("consumer %s: %w", c.name, err)
	}
	if len(c.handlers) == 0 {
		return fmt.Errorf("consumer %s: no handler is registered: call consumer.Handle", c.name)
	}
	if _, _, err := c.retention(); err != nil {
		return fmt.Errorf("consumer %s: %w", c.name, err)
	}
	r := c.newRun(ctx)
	defer r.unsubscribe()
	defer r.cutOff()
	defer r.cut()
	defer r.stop(nil)
	if err := r.startRelay(); err != nil {
		return fmt.Errorf("consumer %s: %w", c.name, errors.Join(err, r.closeAlerts()))
	}
	r.start()
	c.setRunning(true)
	<-r.soft.Done()
	stopped := r.drainAll()
	c.setRunning(false)
	cause := context.Cause(r.soft)
	if ctx.Err() != nil && errors.Is(cause, context.Cause(ctx)) {
		cause = nil
	}
	if err := errors.Join(cause, stopped); err != nil {
		return fmt.Errorf("consumer %s: %w", c.name, err)
	}
	return nil
}

func (c *Consumer) newRun(ctx context.Context) *run {
	r := &run{c: c, budget: newBudget(c.config.MaxInFlight, c.config.MaxInFlightBytes)}
	r.soft, r.stop = context.WithCancelCause(ctx)
	r.hard, r.cut = context.WithCancel(context.WithoutCancel(ctx))
	r.over, r.cutOff = context.WithCancel(context.WithoutCancel(ctx))
	r.subscribed, r.unsubscribe = context.WithCancel(context.WithoutCancel(ctx))
	r.startAlerts()
	c.gate.OnChange = r.gateChanged
	c.hold.changed = r.pauseChanged
	return r
}

// start begins everything that drainAll ends.
func (r *run) start() {
	backlog := r.startEngines()
	r.workers.Go(func() { backlog.Run(r.soft) })
	for _, h := range r.c.handlers {
		r.receivers.Go(func() { r.receive(h) })
	}
}

// startEngines begins to work for deliveries, and returns what works the backlog off.
func (r *run) startEngines() *drain.Drain {
	r.startPruning()
	o := r.options()
	r.startInstance(o)
	st := lastly{r.c.st, r.over}
	engines := make(map[string]*group.Engine, len(r.c.handlers))
	for _, h := range r.c.handlers {
		h.engine = group.NewEngine(r.soft, r.hard, st, h.Handler, o)
		engines[h.Name] = h.engine
		for range cmp.Or(h.concurrency, r.c.config.Concurrency) {
			r.workers.Go(h.engine.Work)
		}
		r.workers.Go(h.engine.Lease)
	}
	line := group.NewLine(r.soft, r.c.name, st, engines, o)
	line.Unknown = r.unknownHandler
	r.workers.Go(line.Recall)
	r.workers.Go(r.watchPause)
	return drain.New(pausable{line, r.c.hold, r.c.router}, drain.Options{
		Workers: r.c.config.BacklogWorkers, Wake: r.c.st.Backlog().Signals.C(r.c.name), OnState: r.backlogState,
	})
}

// fail stops the consumer because of err. The first cause counts.
func (r *run) fail(err error) {
	r.c.mu.Lock()
	if r.c.fatal == nil {
		r.c.fatal = err
	}
	r.c.mu.Unlock()
	r.stop(err)
}

// drainAll ends everything, in the order that loses nothing: no new deliveries,
// what was not begun is given back, what was begun finishes, and only then do the
// subscriptions end.
func (r *run) drainAll() error {
	r.budget.close()
	var err error
	// A Subscribe that hangs needs its context to end.
	if !within(&r.receivers, time.Second) {
		r.unsubscribe()
		if !within(&r.receivers, grace) {
			err = errReceiving
		}
	}
	for _, h := range r.c.handlers {
		h.engine.Stop()
	}
	hung := r.endWork()
	err = errors.Join(err, r.awaitHandlers())
	if !within(&r.taken, grace) {
		err = errors.Join(err, errTaken)
	}
	r.unsubscribe()
	r.nacks.Wait()
	r.endInstance(hung == nil)
	return errors.Join(err, hung, r.leaveRelay(), r.unwatch(), r.closeAlerts())
}

// errReceiving is the error of a Run that left a goroutine behind.
var errReceiving = fmt.Errorf("Source.Subscribe, or a function of Config: %w", ErrDrainTimeout)

func (r *run) leaveRelay() error {
	if r.leave == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), r.c.config.DrainTimeout)
	defer cancel()
	return r.leave(ctx)
}

// within waits for wg for at most d, and reports whether it was done.
func within(wg *sync.WaitGroup, d time.Duration) bool {
	done := make(chan struct{})
	go func() { // ends with wg; a handler that never returns is all that can keep it
		wg.Wait()
		close(done)
	}()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

func (c *Consumer) setRunning(running bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = running
}
