package consumer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/group"
	"github.com/headrace/headrace/store"
)

// errAttached is the error of Run where the Router runs the handlers.
var errAttached = errors.New("it is attached to a Router: call the Router's Run")

// Attach makes the handlers of a Router that exists safe: each of their messages is
// handled in a transaction of st, which the handler finds in its message's context
// (headrace.TxFrom), together with the record that it was handled and the messages that
// the handler returned; failures are retried, wait in the backlog or become dead
// letters by config. The backlog, redrives and the outbox are worked off while the
// Router runs.
//
// Attach is called after every AddHandler, AddConsumerHandler and AddMiddleware, and
// before the Router runs. It needs config.Name and config.Sink; config.Source must be
// nil. The Router then subscribes, acknowledges and gives back, but publishes nothing:
// what handlers return goes into the outbox under the handler's publish topic, and from
// there to Sink. Sink may be the handlers' own Publisher: what the Router closes is closed
// after everything has been settled and published. Where the program goes on publishing
// after the Router has ended, give Sink one of its own and close it then.
//
// A handler runs with copies of its message, one for each attempt, in a transaction of
// its own (see Alone), since it may call other systems; those calls are repeated with
// the attempt. Its context does not end when the Router is closed, but with
// config.DrainTimeout after that.
//
// inside are middlewares for the handlers within each attempt, the first one outermost:
// they see every run, those from the backlog too. The middlewares that the Router had
// before stand outside: they see deliveries only, and no handler's error. They and the
// Router have a copy of the message, and what they do to that does not reach the broker
// before the commit: it is acknowledged when the handler's work is kept and the Router
// acknowledges it, or when a middleware outside passes it over without an error.
//
// What is wrong at the start is returned by Router.Run before it subscribes. (Watermill
// writes "cannot initialize plugin" and an address before it: the plugin is Attach's.) The
// error matches headrace.ErrOrder, and names the middleware, where one was added after
// Attach (it would be passed over when a message is run from the backlog), or where
// Watermill's Retry, PoisonQueue, Deduplicator, CircuitBreaker or InstantAck, or
// inbox.Middleware, retry.Middleware or dlq.Middleware stand outside, for the Router or
// for a handler: they undo what headrace promises. Attach itself returns such an error
// where they, IgnoreErrors or Duplicator are among inside or stand around a handler that
// the Router has, and for a second Attach.
//
// Where one is hidden in a function of the program's own, or a middleware outside
// acknowledges messages before their handler has run, it is found at a handler's first
// message: then no message is acknowledged or handled, an alert is sent, and Ready and
// Alive return the error. So it is where a middleware inside calls the handler again after
// it succeeded, or does not wait for it. A run of the handler that fails after it has used
// its transaction fails the attempt, whatever a middleware inside makes of that.
//
// Not found are: a middleware outside that marks or settles only some messages, anywhere
// but at the broker; one around the handler, hidden in a function, where the handler never
// asks for its transaction (of Watermill's, Retry is found even then); one inside that
// passes a message over, which is recorded as handled; and what the handler itself
// repeats, passes over, or does in a goroutine after it has returned.
func Attach(router *message.Router, st store.Store, config Config, inside ...message.HandlerMiddleware) (*Consumer, error) {
	if err := checkAttach(router, st, config); err != nil {
		return nil, fmt.Errorf("attach: %w", err)
	}
	if err := errors.Join(checkInside(inside), checkOnce(router)); err != nil {
		return nil, fmt.Errorf("attach %s: %w", config.Name, err)
	}
	if err := drainTime(router, &config); err != nil {
		return nil, fmt.Errorf("attach %s: %w", config.Name, err)
	}
	c := &Consumer{name: config.Name, st: st, config: config.withDefaults()}
	c.gate, c.hold, c.pace = group.NewGate(nil), newHold(), usualPace
	if err := c.observe(); err != nil {
		return nil, fmt.Errorf("attach %s: %w", c.name, err)
	}
	a := newAttachment(c, router.Handlers())
	for _, name := range a.names() {
		if err := encode.Name("handler name", name); err != nil {
			return nil, fmt.Errorf("attach %s: %w: it is part of the scope of keys", c.name, err)
		}
		run, err := a.wrap(name, inside)
		if err != nil {
			return nil, fmt.Errorf("attach %s: %w", c.name, err)
		}
		c.handlers = append(c.handlers, a.handler(run))
	}
	if _, _, err := c.retention(); err != nil {
		return nil, fmt.Errorf("attach %s: %w", c.name, err)
	}
	c.router = a
	c.started.Store(true)
	router.AddPlugin(a.plugin)
	router.AddSubscriberDecorators(a.subscriber)
	router.AddPublisherDecorators(a.publisher)
	router.AddMiddleware(a.middleware)
	return c, nil
}

func checkAttach(router *message.Router, st store.Store, config Config) error {
	if config.Name == "" {
		return fmt.Errorf("option Config.Name is empty: name this service; its keys are kept apart from others' by it, so it must not change")
	}
	if err := encode.ConsumerName(config.Name); err != nil {
		return fmt.Errorf("option Config.Name: %w", err)
	}
	switch {
	case router == nil:
		return fmt.Errorf("%s: the Router is nil", config.Name)
	case st == nil:
		return fmt.Errorf("%s: the store is nil", config.Name)
	case config.Source != nil:
		return fmt.Errorf("%s: option Config.Source is set: the Router subscribes, leave it nil", config.Name)
	case config.Sink == nil:
		return fmt.Errorf("%s: option Config.Sink is nil: give the Publisher for what handlers return, since the Router publishes nothing any more", config.Name)
	case router.IsRunning() || router.IsClosed():
		return fmt.Errorf("%s: the Router runs already, or was closed: attach before Router.Run", config.Name)
	case len(router.Handlers()) == 0:
		return fmt.Errorf("%s: the Router has no handlers: attach after AddHandler and AddConsumerHandler", config.Name)
	}
	if err := config.validate(); err != nil {
		return fmt.Errorf("%s: %w", config.Name, err)
	}
	return nil
}

// drainTime fits the drain time to the Router's, which returns from Run when its
// CloseTimeout is over, whatever still runs.
func drainTime(router *message.Router, config *Config) error {
	closing, known := closeTimeout(router)
	if !known {
		closing = 30 * time.Second // Watermill's default
	}
	if config.DrainTimeout == 0 {
		config.DrainTimeout = closing * 2 / 3
		return nil
	}
	if known && config.DrainTimeout >= closing {
		return fmt.Errorf("option Config.DrainTimeout is %s, but the Router waits for its handlers no longer than %s: "+
			"raise RouterConfig.CloseTimeout above it", config.DrainTimeout, closing)
	}
	return nil
}

// names returns the handlers' names in order.
func (a *attachment) names() []string {
	names := make([]string, 0, len(a.raw))
	for name := range a.raw {
		names = append(names, name)
	}
	slices.SortFunc(names, strings.Compare)
	return names
}

// handler is the registration of the Router's handler that run runs.
func (a *attachment) handler(run *attempts) *handler {
	c, name := a.c, run.name
	g := &group.Handler{
		Consumer: c.name, Name: name, Scope: c.name + "/" + name, Alone: true,
		Strict: c.config.Strict, Timeout: c.config.HandlerTimeout, Policy: c.config.Retry,
		Decode: func(*headrace.Delivery) (any, error) { return nil, nil },
		Encode: c.config.Codec.Encode, Run: run.run,
		Telemetry: c.telemetry.Handler(c.name, name, group.Outcomes()),
	}
	h := &handler{Handler: g}
	h.resolve = resolver{handler: g, key: c.config.Key, fingerprint: c.config.Fingerprint, orderKey: c.config.OrderKey}
	a.handlers[name] = h
	return h
}
