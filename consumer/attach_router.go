package consumer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/chain"
	"github.com/headrace/headrace/internal/drain"
	"github.com/headrace/headrace/internal/group"
	"github.com/headrace/headrace/internal/routed"
)

// attachment is what ties a Consumer to a Router: what it installs there, and the run
// from the first subscription to the end of the last.
type attachment struct {
	c        *Consumer
	raw      map[string]message.HandlerFunc // as the Router has them
	handlers map[string]*handler
	ended    chan struct{} // closed when everything of the run has ended
	err      error         // why it did; read after ended
	// disordered says that the Router is put together wrongly: no message goes there.
	disordered atomic.Bool
	// sound says that a message came to its handler, and was done with, unacknowledged.
	sound atomic.Bool
	// wrong is why no handler is run: see refuse. Nil while they are.
	wrong atomic.Pointer[error]
	paths chain.Paths

	mu      sync.Mutex
	run     *run // nil before the first subscription
	subs    []*routerSubscription
	open    int                 // subscriptions that bring deliveries
	placed  int                 // handlers whose middlewares are in order
	backlog *drain.Drain        // until it was started
	closing bool                // the run is being ended
	later   []message.Publisher // to close when it has
}

func newAttachment(c *Consumer, raw map[string]message.HandlerFunc) *attachment {
	return &attachment{c: c, raw: raw, handlers: make(map[string]*handler, len(raw)), ended: make(chan struct{})}
}

// plugin is called when the Router starts, before it subscribes.
func (a *attachment) plugin(router *message.Router) error {
	for name := range router.Handlers() {
		if _, ok := a.raw[name]; !ok {
			return fmt.Errorf("consumer %s: the handler %q was added after consumer.Attach: attach after every AddHandler", a.c.name, name)
		}
	}
	if err := a.scan(router); err != nil {
		a.red(err)
		return fmt.Errorf("consumer %s: %w", a.c.name, err)
	}
	if err := a.c.mistakes.err(); err != nil {
		return fmt.Errorf("consumer %s: %w", a.c.name, err)
	}
	return nil
}

// begin starts the run with the first subscription, and counts this one in.
func (a *attachment) begin(s *routerSubscription) (*run, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closing || a.run != nil && a.run.soft.Err() != nil {
		return nil, fmt.Errorf("consumer %s: it has been stopped, and runs once: %w", a.c.name, ErrRunning)
	}
	if a.run == nil {
		r := a.c.newRun(context.Background())
		if err := r.startRelay(); err != nil {
			r.stop(nil)
			r.cut()
			r.unsubscribe()
			return nil, fmt.Errorf("consumer %s: %w", a.c.name, errors.Join(err, r.closeAlerts()))
		}
		a.run, a.backlog = r, r.startEngines()
		a.c.setRunning(true)
		go a.supervise(r)
	}
	a.open++
	a.subs = append(a.subs, s)
	a.run.receivers.Add(1)
	return a.run, nil
}

// left says that the Router has enough of a subscription, or that it brings no more
// deliveries. With the last one the run ends: the Router is being closed, or closes
// itself.
func (a *attachment) left(r *run) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open--; a.open == 0 {
		r.stop(nil)
	}
}

// supervise ends the run when it is to stop.
func (a *attachment) supervise(r *run) {
	defer close(a.ended)
	<-r.soft.Done()
	a.mu.Lock()
	a.closing = true
	a.mu.Unlock()
	stopped := r.drainAll()
	r.cut()
	r.cutOff()
	a.c.setRunning(false)
	a.mu.Lock()
	later := a.later
	a.mu.Unlock()
	for _, p := range later {
		stopped = errors.Join(stopped, p.Close())
	}
	a.c.mu.Lock()
	defer a.c.mu.Unlock()
	if err := errors.Join(a.c.fatal, stopped); err != nil {
		a.err = fmt.Errorf("consumer %s: %w", a.c.name, err)
	}
}

// Wait blocks until a consumer of Attach has ended, which it does with its Router, or
// until ctx ends. It returns nil after a clean end, and otherwise what Router.Run, which
// returns nil then, does not say: what only a person can mend, or what was still running
// after the drain time (ErrDrainTimeout). Before the Router has subscribed, and for a
// consumer of New, it returns ErrNotRunning at once.
func (c *Consumer) Wait(ctx context.Context) error {
	a := c.router
	if a == nil || a.running() == nil {
		return fmt.Errorf("consumer %s: %w", c.name, ErrNotRunning)
	}
	select {
	case <-a.ended:
		return a.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (a *attachment) running() *run {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.run
}

// red makes the consumer neither ready nor alive because of err, while it goes on; it
// reports whether err is the first cause.
func (a *attachment) red(err error) bool {
	a.c.mu.Lock()
	defer a.c.mu.Unlock()
	first := a.c.fatal == nil
	if first {
		a.c.fatal = err
	}
	return first
}

// middleware takes the place of next: deliveries become tasks, and it is the engine that
// calls the handler. It is called for each handler when the Router starts it.
func (a *attachment) middleware(next message.HandlerFunc) message.HandlerFunc {
	misplaced := a.place(next)
	if misplaced == nil {
		a.inOrder()
	}
	var first sync.Once
	var wrong error
	var quiet bool
	return func(m *message.Message) ([]*message.Message, error) {
		p := passedOf(m)
		if p == nil {
			a.disorder(errStrange)
			a.pause()
			return nil, errStrange
		}
		p.arrive()
		first.Do(func() {
			if wrong, quiet = a.inspect(m, next, misplaced); wrong != nil {
				a.disorder(wrong)
			}
		})
		if wrong == nil && p.open(a) {
			return nil, a.handle(m, p)
		}
		a.giveBack(p)
		if quiet {
			return nil, nil
		}
		return nil, cmp.Or(wrong, error(errGivenBack))
	}
}

var errStrange = fmt.Errorf("%w: a middleware outside of consumer.Attach hands on a message of its own: it must have the context of the one that it was given",
	headrace.ErrOrder)

// inOrder begins to work the backlog off once every handler's middlewares are known to
// be in order: it runs handlers without the Router.
func (a *attachment) inOrder() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.placed++; a.placed < len(a.raw) || a.backlog == nil || a.closing {
		return
	}
	r, backlog := a.run, a.backlog
	a.backlog = nil
	r.workers.Go(func() { backlog.Run(r.soft) })
}

// handle returns when m, which stands for p, is settled. Its error only gives m back: the
// Router logs it if it is not context.Canceled.
func (a *attachment) handle(m *message.Message, p *passed) error {
	h := a.handlers[message.HandlerNameFromCtx(m.Context())]
	t := h.resolve.taskOf(m, message.SubscribeTopicFromCtx(m.Context()))
	t.Delivery.ReplyTopic = routed.ReplyTopic(m)
	settled := make(chan group.Outcome, 1)
	t.Settle = func(o group.Outcome) {
		a.c.stats.live[o].Add(1)
		if o == group.Dead || o == group.Conflict {
			a.running().rows.Wake()
		}
		settled <- o
	}
	a.c.stats.delivered.Add(1)
	h.engine.Add(t)
	outcome := <-settled
	if done(p.copy.Acked()) { // while it was handled
		a.disorder(errEarly(m))
	} else {
		a.sound.Store(true)
	}
	if outcome != group.Released {
		p.settle()
		return nil
	}
	a.giveBack(p)
	return errGivenBack
}

var errGivenBack = &headrace.HeldError{Err: fmt.Errorf("given back to be delivered again: %w", context.Canceled)}

// giveBack gives p back after a pause, or at once where the consumer stops. It does that
// itself and not by an error alone: a middleware outside may pass over an error.
func (a *attachment) giveBack(p *passed) {
	a.pause()
	p.original.Nack()
	p.settle()
}

// pause blocks for the pause before a message is given back, or until the consumer stops.
func (a *attachment) pause() {
	timer := time.NewTimer(a.c.config.NackPause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-a.running().soft.Done():
	}
}
