package router

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/execute"
	"github.com/headrace/headrace/internal/runtime"
	"github.com/headrace/headrace/internal/sleep"
	"github.com/headrace/headrace/internal/task"
)

// Attachment connects a consumer to a Router: its parts in the Router, and the run from
// the first subscription to the end of the last. Make one with Attach.
type Attachment struct {
	rt       *runtime.Runtime
	handlers map[string]*handler
	ended    chan struct{} // closed when everything of the run has ended
	err      error         // the result of the run; read after ended
	// disordered says that the Router is set up wrongly: it gets no more messages.
	disordered atomic.Bool
	// sound says that a message reached its handler, and was handled before its
	// acknowledgement.
	sound atomic.Bool
	// wrong is why handlers do not run: see refuse. Nil if they run.
	wrong    atomic.Pointer[error]
	released recent // ids of deliveries that were given back

	mu      sync.Mutex
	run     *runtime.Run        // nil before the first subscription
	open    int                 // subscriptions that still deliver
	ready   int                 // handlers that the Router has started correctly
	closing bool                // the run is ending
	later   []message.Publisher // to close when the run has ended
}

// Attach attaches rt, which has no handlers yet, to router, which has all of its own.
// register makes the registration of a handler, without its functions.
func Attach(router *message.Router, rt *runtime.Runtime, register func(name string) *runtime.Handler, inside []message.HandlerMiddleware) (*Attachment, error) {
	if err := checkTimes(router, rt.DrainTimeout); err != nil {
		return nil, err
	}
	a := &Attachment{rt: rt, handlers: make(map[string]*handler), ended: make(chan struct{})}
	for name, raw := range router.Handlers() {
		if err := encode.Name("handler name", name); err != nil {
			return nil, fmt.Errorf("%w: it is part of the scope of keys", err)
		}
		err := checkRival(raw)
		f, wrong := wrap(counted(raw), inside)
		if err = cmp.Or(err, wrong); err != nil {
			return nil, fmt.Errorf("handler %q: %w", name, err)
		}
		h := &handler{Handler: register(name), a: a, raw: raw, f: f}
		h.Alone, h.Run = true, h.run
		h.Decode = func(*headrace.Delivery) (any, error) { return nil, nil }
		a.handlers[name] = h
		rt.Add(h.Handler)
	}
	rt.Refused = a.Refused
	router.AddPlugin(a.plugin)
	router.AddSubscriberDecorators(a.decorateSubscriber)
	router.AddPublisherDecorators(a.decoratePublisher)
	return a, nil
}

// plugin runs when the Router starts, before it subscribes. Our middleware becomes the
// innermost of the Router's.
func (a *Attachment) plugin(router *message.Router) error {
	for name, f := range router.Handlers() {
		if h := a.handlers[name]; h == nil || codeOf(h.raw) != codeOf(f) {
			return fmt.Errorf("consumer %s: the handler %q was added after consumer.Attach: attach after every AddHandler", a.rt.Name, name)
		}
	}
	router.AddMiddleware(a.middleware)
	return nil
}

// begin starts the run with the first subscription, and counts subscriptions.
func (a *Attachment) begin() (*runtime.Run, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.run != nil && a.run.Stopping.Err() != nil {
		return nil, fmt.Errorf("consumer %s: it has been stopped, and runs once: %w", a.rt.Name, runtime.ErrRunning)
	}
	if a.run == nil {
		r, err := a.rt.Start(context.Background())
		if err != nil {
			return nil, err
		}
		a.run = r
		go a.supervise(r)
	}
	a.open++
	a.run.Receivers.Add(1)
	return a.run, nil
}

// left records that a subscription delivers no more. The last one ends the run: the
// Router is closing.
func (a *Attachment) left(r *runtime.Run) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open--; a.open == 0 {
		r.Stop()
	}
}

// supervise ends the run when it should stop.
func (a *Attachment) supervise(r *runtime.Run) {
	defer close(a.ended)
	<-r.Stopping.Done()
	a.mu.Lock()
	a.closing = true
	later := a.later // complete, since the run is stopping
	a.mu.Unlock()
	stopped := r.Finish()
	for _, p := range later {
		stopped = errors.Join(stopped, p.Close())
	}
	if err := errors.Join(a.rt.Fatal(), stopped); err != nil {
		a.err = fmt.Errorf("consumer %s: %w", a.rt.Name, err)
	}
}

// Wait is consumer.Consumer.Wait.
func (a *Attachment) Wait(ctx context.Context) error {
	if a.running() == nil {
		return fmt.Errorf("consumer %s: %w", a.rt.Name, runtime.ErrNotRunning)
	}
	select {
	case <-a.ended:
		return a.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (a *Attachment) running() *runtime.Run {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.run
}

// disorder stops all messages because of wrong, and reports it.
func (a *Attachment) disorder(wrong error) {
	a.disordered.Store(true)
	if !a.rt.Fail(wrong) {
		return
	}
	a.rt.Logger.Error("messages stay unacknowledged: the Router is set up wrongly", "error", wrong)
	a.running().Alert(alerts.WrongOrder, nil, "messages stay unacknowledged: "+wrong.Error())
}

// refuse stops all runs of handlers because of wrong, and reports it.
func (a *Attachment) refuse(wrong error) {
	var err error = &execute.RefusedError{Reason: wrong}
	a.wrong.CompareAndSwap(nil, &err)
	a.disorder(wrong)
}

// Refused returns why handlers do not run; nil if they do.
func (a *Attachment) Refused() error {
	if err := a.wrong.Load(); err != nil {
		return *err
	}
	return nil
}

// middleware replaces next: deliveries become tasks, and the engine calls the handler.
// The Router calls it for each handler that it starts.
func (a *Attachment) middleware(next message.HandlerFunc) message.HandlerFunc {
	wrong := a.checkPlace(next)
	if wrong != nil {
		a.disorder(wrong)
	} else {
		a.inOrder()
	}
	return func(m *message.Message) ([]*message.Message, error) {
		d, _ := m.Context().Value(deliveryKey{}).(*delivery)
		if d == nil {
			a.disorder(errStrange)
			a.pause()
			return nil, errStrange
		}
		may, err := d.arrive(), wrong
		name := message.HandlerNameFromCtx(m.Context())
		h := a.handlers[name]
		if err == nil && h == nil {
			err = fmt.Errorf("handler %q: %w: it was added after consumer.Attach: attach after every AddHandler", name, headrace.ErrOrder)
			a.disorder(err)
		}
		if err == nil && may {
			return nil, a.handle(h, m, d)
		}
		d.giveBack()
		return nil, cmp.Or(err, errGivenBack)
	}
}

// inOrder starts the backlog when every handler's place is known to be right, since the
// backlog runs handlers without the Router.
func (a *Attachment) inOrder() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ready++; a.ready == len(a.handlers) && !a.closing {
		a.run.StartBacklog()
	}
}

// handle returns when m, the copy of d, is settled by h. Its error only gives m back: the
// Router logs it if it is not context.Canceled.
func (a *Attachment) handle(h *handler, m *message.Message, d *delivery) error {
	t := h.Task(m, message.SubscribeTopicFromCtx(m.Context()), d.source)
	t.Delivery.ReplyTopic = replyTopic(m)
	settled := make(chan task.Outcome, 1)
	a.running().Process(t, h.Handler, func(o task.Outcome) { settled <- o })
	outcome := <-settled
	if done(d.copy.Acked()) { // during its handling
		a.disorder(d.wrong(early))
	} else {
		a.sound.Store(true)
	}
	if outcome != task.Released {
		a.released.remove(d.id())
		d.settle()
		return nil
	}
	d.giveBack()
	return errGivenBack
}

var errGivenBack = fmt.Errorf("given back to be delivered again: %w", context.Canceled)

// pause waits before a message is given back, or until the consumer stops.
func (a *Attachment) pause() { sleep.For(a.running().Stopping, a.rt.NackPause) }
