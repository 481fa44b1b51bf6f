package router

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/runtime"
	"github.com/headrace/headrace/internal/task"
)

// Rule: an attempt is one run of the handler, and a failed run has no effects. A
// middleware inside could break that. So the attempt compares the handler's result with
// that of the middlewares.
var (
	errTwice = errors.New("a middleware inside calls the handler more than once in an attempt, whose effects would be doubled: remove it")
	errAsync = errors.New("a middleware inside returns before the handler has: what the handler does then is not kept: remove it")
	errLater = errors.New("the handler returns, and a goroutine of it asks for the transaction after that: what it does is not kept, although its message counts as handled: wait for it")
)

// These are errors of an attempt, not of the program.
var (
	errHidden  = errors.New("a middleware inside ignored the handler's error, or ran it again, but a failed run that has used the transaction fails the attempt")
	errDropped = errors.New("a middleware inside skipped a message whose handler had run in an earlier attempt, as Deduplicator does: to give it up, return retry.Permanent(err)")
	errPanic   = errors.New("the handler panicked")
)

// handler is a handler of the Router.
type handler struct {
	*runtime.Handler
	a      *Attachment
	raw    message.HandlerFunc // as the Router has it
	f      message.HandlerFunc // with the middlewares inside around it
	values sync.Map            // of contexts: see routerContext
	called recent              // keys of messages for which the handler was called
	// sound says that an attempt has called the handler, and returned after it.
	sound atomic.Bool
}

// run is task.Handler.Run: f gets its own message, and the messages that it returns go
// into the outbox with the transaction.
func (h *handler) run(ctx context.Context, tx *headrace.Tx, inputs []task.Input) error {
	if err := h.a.Refused(); err != nil {
		return err
	}
	d := &inputs[0].Delivery
	ctx = headrace.WithIdempotencyKey(headrace.WithTx(ctx, tx), d)
	if message.HandlerNameFromCtx(ctx) == "" { // from the backlog
		ctx = h.routerContext(headrace.WithArrival(ctx, headrace.Arrival{Coordinates: d.Coordinates}), d.Topic, d.ReplyTopic)
	}
	r := &handlerRun{Context: ctx, h: h, tx: tx, key: d.Key, called: make(chan struct{})}
	produced, err := call(h.f, newMessage(r, d))
	if err = r.end(err); err != nil {
		return err
	}
	return publish(tx, d.ReplyTopic, produced)
}

// handlerRun is the context of one attempt. It counts the calls of the handler.
type handlerRun struct {
	context.Context
	h      *handler
	tx     *headrace.Tx
	key    string
	called chan struct{} // closed by the first call of the handler

	mu      sync.Mutex
	calls   int
	running int   // calls that have not returned
	kept    bool  // one of them returned without an error
	failed  error // error of the first call that failed after using the transaction
	asked   bool  // the handler asked for the transaction
	over    bool  // the attempt has ended,
	ended   error // with this
}

type handlerRunKey struct{}

// Value implements context.Context.
func (r *handlerRun) Value(key any) any {
	if key == (handlerRunKey{}) {
		return r
	}
	v := r.Context.Value(key)
	if _, ok := v.(*headrace.Tx); ok {
		r.ask()
	}
	return v
}

// ask records that the handler gets the transaction.
func (r *handlerRun) ask() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over {
		r.asked = true
	} else if !r.asked && r.ended == nil {
		r.refuse(errLater)
	}
}

// counted returns raw, and counts its calls.
func counted(raw message.HandlerFunc) message.HandlerFunc {
	return func(m *message.Message) (out []*message.Message, err error) {
		r, _ := m.Context().Value(handlerRunKey{}).(*handlerRun)
		if r == nil { // a message made by a middleware, without the transaction
			return raw(m)
		}
		if may, err := r.enter(); !may {
			return nil, err
		}
		returned := false
		defer func() {
			if !returned {
				err = errPanic
			}
			r.leave(err)
		}()
		out, err = raw(m)
		returned = true
		return out, err
	}
}

// enter reports whether the handler may be called. After refuse it may not, and there is
// no error, since a middleware would act on one.
func (r *handlerRun) enter() (may bool, err error) {
	if r.h.a.Refused() != nil {
		return false, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls++; r.calls == 1 {
		close(r.called)
	}
	switch {
	case r.over && r.ended == nil:
		r.refuse(errAsync)
		return false, nil
	case r.over:
		return false, r.ended
	case r.failed != nil:
		return false, r.failed
	case r.kept || r.running > 0:
		r.refuse(errTwice)
		return false, nil
	}
	r.running++
	return true, nil
}

func (r *handlerRun) leave(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running--
	switch {
	case err == nil:
		r.kept = true
	case r.failed == nil && r.tx.Used():
		r.failed = err
	}
}

func (r *handlerRun) refuse(why error) {
	r.h.a.refuse(fmt.Errorf("handler %q: %w: %w", r.h.Name, headrace.ErrOrder, why))
}

// callTime is how long the first attempts of a handler wait for its call if they end
// without one: a goroutine may be about to call it.
const callTime = 100 * time.Millisecond

// end returns the result of the attempt; the middlewares returned err.
func (r *handlerRun) end(err error) error {
	r.mu.Lock()
	err = r.compare(err)
	r.over, r.ended = true, err
	r.mu.Unlock()
	if err == nil && !r.h.sound.Load() {
		await(r.called, min(callTime, r.h.a.rt.NackPause))
	}
	if wrong := r.h.a.Refused(); wrong != nil {
		return wrong
	}
	return err
}

// compare compares the handler's result with err. The lock is held.
func (r *handlerRun) compare(err error) error {
	switch {
	case err == nil && r.running > 0:
		r.refuse(errAsync)
	case err == nil && r.failed != nil:
		err = fmt.Errorf("%w: %w", errHidden, r.failed)
	case err == nil && r.calls == 0 && r.h.called.has(r.key):
		err = errDropped
	case r.calls > 0:
		r.h.sound.Store(true)
	}
	if r.calls > 0 {
		r.h.called.add(r.key)
	}
	return err
}
