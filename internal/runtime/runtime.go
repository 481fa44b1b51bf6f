package runtime

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/breaker"
	"github.com/headrace/headrace/internal/crashguard"
	"github.com/headrace/headrace/internal/dispatch"
	"github.com/headrace/headrace/internal/failurelog"
	"github.com/headrace/headrace/internal/lease"
	"github.com/headrace/headrace/internal/outage"
	"github.com/headrace/headrace/internal/pause"
	"github.com/headrace/headrace/internal/stranded"
	"github.com/headrace/headrace/internal/subscription"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/internal/telemetry"
)

// Runtime is a consumer. Make one with New, and Add its handlers before it runs.
type Runtime struct {
	Options
	Breaker   *breaker.Breaker
	Pause     *pause.State
	Counters  Counters
	Telemetry *telemetry.Telemetry
	// Subscriptions are those of its handlers.
	Subscriptions *subscription.Set
	// Process is shared with other runtimes: by default, that of this process. Set it
	// before Run.
	Process *crashguard.Process
	// Beside are the topics of local handlers of consumers that run with this one on its
	// store, by their names. Set it before Run.
	Beside map[string][]string
	// Refused returns why handlers do not run; nil if they do. Set it before Run.
	Refused func() error

	handlers []*Handler
	pace     crashguard.Pace
	guard    atomic.Pointer[crashguard.Guard] // nil before Run
	left     task.LeftBehind
	failures failurelog.Log
	stranded stranded.Log

	running atomic.Bool
	mu      sync.Mutex
	fatal   error
}

// Counters count what this process did, for consumer.Stats.
type Counters struct {
	// Delivered are deliveries received, Failed runs of a handler that failed.
	Delivered, Failed atomic.Int64
	// Live are deliveries, and Backlog rows of the backlog, by outcome.
	Live, Backlog [task.Released + 1]atomic.Int64
}

// Handler is a registration, with the functions that turn a message into a task.
type Handler struct {
	*task.Handler
	// Key, Fingerprint and OrderKey identify its messages.
	Key         inbox.KeyFunc
	Fingerprint inbox.FingerprintFunc
	OrderKey    func(*headrace.Delivery) string
	// Source is its subscriber; nil for none.
	Source message.Subscriber
	// Ingest is the broker's dead-letter queue that it takes letters from; nil for none.
	Ingest *Ingest
	// Check tests whether Source meets the handler's demands; may be nil.
	Check func(ctx context.Context) error
	// Concurrency is how many batches run at once.
	Concurrency int

	sub      *subscription.Subscription
	dispatch *dispatch.Dispatcher // while it runs
	lease    *lease.Worker        // while it runs; nil unless it is a leased handler
}

// New returns a consumer without handlers.
func New(o Options) (*Runtime, error) {
	rt := &Runtime{
		Options: o, Breaker: breaker.New(nil), Process: crashguard.ThisProcess, pace: crashguard.UsualPace, Refused: func() error { return nil },
	}
	rt.Logger = outage.Logger(o.Logger, func() bool { return rt.Breaker.Err() != nil })
	rt.failures.Logger = o.Logger
	rt.Pause = pause.New(o.Store.Operations().Pauses, o.Name)
	rt.Subscriptions = &subscription.Set{Pause: rt.Pause, Breaker: rt.Breaker, Logger: o.Logger}
	var err error
	if rt.Telemetry, err = telemetry.New(o.TracerProvider, o.MeterProvider); err != nil {
		return nil, fmt.Errorf("option Config.MeterProvider: %w", err)
	}
	return rt, nil
}

// Add adds a handler, and its subscription. It sets Consumer, Scope, Database,
// Telemetry and the functions, and Intake of a strict one. A handler of a Router has no Topic; its subscriptions are added
// later.
func (rt *Runtime) Add(h *Handler) {
	h.Consumer, h.Scope = rt.Name, rt.Name+"/"+h.Name
	h.Intake = h.Intake || h.Strict // the backlog keeps the order
	// The guard knows it before a handler runs.
	h.Database = func() string { return rt.guard.Load().Database() }
	h.Telemetry = rt.Telemetry.Handler(rt.Name, h.Name, task.Outcomes())
	h.Identify = func(t *task.Task) { t.Bad = h.resolve(t, h.Key, h.Source) }
	h.Verify, h.Lettered = h.verify, rt.failures.Refused
	rt.handlers = append(rt.handlers, h)
	if h.Topic != "" {
		h.sub = rt.Subscriptions.Add(h.Topic, h.Name)
	}
	if h.Ingest != nil {
		h.Ingest.sub = rt.Subscriptions.Add(h.Ingest.Queue, h.Name)
	}
}

// Handlers returns the handlers in the order in which they were added.
func (rt *Runtime) Handlers() []*Handler { return rt.handlers }

// handler returns the handler of that name; nil if there is none.
func (rt *Runtime) handler(name string) *Handler {
	for _, h := range rt.handlers {
		if h.Name == name {
			return h
		}
	}
	return nil
}

// Ready returns why messages are not being handled, or nil: see consumer.Consumer.
func (rt *Runtime) Ready() error {
	if err := rt.Alive(); err != nil {
		return err
	}
	if begun := len(rt.Subscriptions.States()); begun < len(rt.handlers) {
		return fmt.Errorf("%d of %d subscriptions have not begun", len(rt.handlers)-begun, len(rt.handlers))
	}
	if err := rt.Subscriptions.Ready(); err != nil {
		return err
	}
	if err := rt.Breaker.Err(); err != nil {
		return fmt.Errorf("the database cannot run our statements: %w", err)
	}
	return nil
}

// Alive returns an error that only a new process can fix, or nil: see consumer.Consumer.
func (rt *Runtime) Alive() error {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	switch n := rt.left.Count(); {
	case rt.fatal != nil:
		return rt.fatal
	case !rt.running.Load():
		return fmt.Errorf("consumer %s: %w", rt.Name, ErrNotRunning)
	case n >= rt.Concurrency:
		return fmt.Errorf("consumer %s: %d handlers ignored their deadline and still run", rt.Name, n)
	}
	return nil
}

// Fail makes the consumer neither ready nor alive because of err; it continues to run.
// Only the first error counts; Fail reports whether err is the first.
func (rt *Runtime) Fail(err error) bool {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	first := rt.fatal == nil
	rt.fatal = cmp.Or(rt.fatal, err)
	return first
}

// Fatal returns the first error passed to Fail.
func (rt *Runtime) Fatal() error {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	return rt.fatal
}
