package consumer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/mistake"
	"github.com/headrace/headrace/internal/router"
	"github.com/headrace/headrace/internal/runtime"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/store"
)

// Consumer runs handlers. Make one with New, register handlers, then Run it once.
// Ready, Alive, Stats and Subscriptions may be called from any goroutine.
type Consumer struct {
	given   Config     // by the program
	config  Config     // with defaults
	options [][]string // of each handler
	rt      *runtime.Runtime
	router  *router.Attachment // nil unless made by Attach
	started atomic.Bool

	mu       sync.Mutex // protects the rest, and the list of handlers until started
	mistakes mistake.List
	late     error // registrations after started
}

// New returns a consumer that does not run yet. name is part of the scope of every key
// that it has ever handled, so it must not change. It contains no slash, no blank at an edge and
// no control or format character, and is at most 120 bytes. The error names the invalid option.
func New(name string, st store.Store, config Config) (*Consumer, error) {
	if err := encode.ConsumerName(name); err != nil {
		return nil, fmt.Errorf("consumer: %w", err)
	}
	if st == nil || mistake.Nil(st) != nil {
		return nil, fmt.Errorf("consumer %s: the store is nil", name)
	}
	if config.Name != "" && config.Name != name {
		return nil, fmt.Errorf("consumer %s: option Config.Name is %q: leave it empty, New is given the name", name, config.Name)
	}
	config.Name = name
	c, err := open(st, config)
	if err != nil {
		return nil, fmt.Errorf("consumer %s: %w", name, err)
	}
	return c, nil
}

func open(st store.Store, config Config) (*Consumer, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	given := config
	config = config.withDefaults()
	if err := mistake.Origin(config.Build, config.Environment); err != nil {
		return nil, err
	}
	rt, err := runtime.New(config.runtime(st))
	return &Consumer{given: given, config: config, rt: rt}, err
}

// Name returns the consumer's name.
func (c *Consumer) Name() string { return c.config.Name }

// Runtime is for other packages and tests of this module.
func (c *Consumer) Runtime() *runtime.Runtime { return c.rt }

// Run handles messages until ctx ends, and then returns nil, or until an error that only
// a person can fix, and returns that. It blocks meanwhile, and returns when every
// goroutine that it started has ended. Exceptions are handlers that ignore their context,
// a Source whose Subscribe does, and statements without an answer on connections that the
// store cannot interrupt; the error then matches ErrDrainTimeout. Package postgres says
// which connections those are. If a newer build changes the schema in a way that this one
// cannot read, Run stops within seconds, with an error that matches store.ErrSchema.
//
// When ctx ends, the consumer begins nothing new. It gives deliveries that it has not
// begun back to the broker, and work under way has Config.DrainTimeout to finish. With a
// Sink the relay has what is left of it, and 5 s at least. If handlers ignore their context, or
// the sink hangs, Run returns about 6 s after that time, and at most about a minute after it if the
// network drops the database's answers. A consumer runs once.
//
// A handler that is registered while it runs changes nothing of the run: that is logged, and an
// error of Run when it ends (ErrRunning). Run returns an error at once if another consumer of
// this name runs in this process on the same store with other handlers. With the same handlers
// the two work like two processes.
func (c *Consumer) Run(ctx context.Context) error {
	if c.router != nil {
		return fmt.Errorf("consumer %s: it is attached to a Router: call the Router's Run", c.Name())
	}
	c.mu.Lock()
	again := c.started.Swap(true)
	c.mu.Unlock()
	if again {
		return fmt.Errorf("consumer %s: %w", c.Name(), ErrRunning)
	}
	if err := c.Err(); err != nil {
		return err
	}
	if names := c.given.set().Overridden(c.options); len(names) > 0 {
		c.config.Logger.Warn("options have no effect, since each handler overrides them: leave them out", "options", names)
	}
	return errors.Join(c.rt.Run(ctx), c.tooLate())
}

// tooLate returns the registrations after the start, which changed nothing.
func (c *Consumer) tooLate() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.late
}

// Err returns the mistakes that are known before Run, which would return them: those of
// registrations and of Config.Retention, options of Config that have no effect on any
// handler, and that no handler is registered. What a source asks its broker for, such as the
// retention of a topic, is not known yet. Call it when all handlers are registered.
func (c *Consumer) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.mistakes.Err()
	if err == nil && c.router == nil && len(c.rt.Handlers()) == 0 {
		err = errors.New("no handler is registered: call consumer.Handle")
	}
	if err == nil && c.router == nil {
		err = c.given.set().Of(c.rt.Handlers(), c.options)
	}
	if err == nil {
		err = c.rt.RefusesRetention()
	}
	if err != nil {
		err = fmt.Errorf("consumer %s: %w", c.Name(), err)
	}
	return errors.Join(err, c.late)
}

// handler returns a registration with the consumer's configuration.
func (c *Consumer) handler(name string) *runtime.Handler {
	return &runtime.Handler{
		Handler: &task.Handler{
			Consumer: c.config.Name, Name: name, Strict: c.config.Strict, Timeout: c.config.HandlerTimeout, Policy: c.config.Retry, Encoder: c.config.Codec,
			Rehearsable: c.config.Rehearsable,
		},
		Key: c.config.Key, Fingerprint: c.config.SameWhen, OrderKey: c.config.OrderKey, Concurrency: c.config.Concurrency,
	}
}

// add adds a registration, or records its mistakes.
func (c *Consumer) add(r *registration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.started.Load() {
		c.late = errors.Join(c.late, fmt.Errorf("consumer %s: handler %q was registered too late, and gets nothing: %w", c.Name(), r.Name, ErrRunning))
		c.config.Logger.Error("a handler was registered too late, and gets nothing: register it before Run, or add it to the Router before Attach", "handler", r.Name)
		return
	}
	r.setSource(c.config.Source)
	c.options = append(c.options, r.given)
	for _, err := range mistake.Handler(r.Handler, c.rt.Handlers(), r.local, c.config.DrainTimeout) {
		r.mistake("%w", err)
	}
	if slices.Contains(r.given, "Rehearsable") && (r.Alone || r.Leased != nil) {
		r.mistake("Rehearsable: a handler that is Alone, or of HandleLeased, is for calls of other systems and cannot be rehearsed")
	}
	for _, err := range r.mistakes {
		c.mistakes = append(c.mistakes, fmt.Errorf("%q: %w", r.Name, err))
	}
	if r.Leased != nil {
		r.Leased.Slots, r.Leased.Timeout = r.Concurrency, r.Timeout
		r.Strict, r.Alone, r.Timeout = true, true, c.config.HandlerTimeout
		if early, before := r.Leased.Plan.Early(); early != "" {
			c.config.Logger.Warn("a step with Park or Skip comes before one with Retry or Probe: if that one fails for good, the call was made already; put it last", "handler", r.Name, "step", early, "before", before)
		}
	}
	r.Check = c.checkOf(r.Handler, r.Topic, r.Source)
	if in := r.Ingest; in != nil {
		in.Check = c.checkOf(r.Handler, in.Queue, in.Source)
	}
	c.rt.Add(r.Handler)
}
