package runtime

import (
	"context"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/task"
)

// The code below is for tests, the kit's and our own. It changes a Runtime before it
// runs; no other code depends on it.

// Stage says which part of a handler runs.
type Stage int

// The stages. A handler of HandleLeased has the last two, any other the first.
const (
	// Handling: the function of Handle, HandleBatch or a Router, in its transaction.
	Handling Stage = iota
	// Working: the work of a leased handler, without a transaction.
	Working
	// Applying: the Effects that the work returned, in its transaction.
	Applying
)

// Call is one call of a handler.
type Call struct {
	// Handler is its name; Batch says that it gets several messages at once.
	Handler string
	Batch   bool
	// Stage says what runs, and Deliveries for which messages.
	Stage      Stage
	Deliveries []headrace.Delivery
}

// Interceptor is called instead of a handler: it calls do once or not at all, and its
// error is the handler's error.
type Interceptor func(ctx context.Context, c Call, do func() error) error

// Intercept makes every handler call f instead.
func (rt *Runtime) Intercept(f Interceptor) {
	for _, h := range rt.handlers {
		intercept(h.Handler, f)
	}
}

func intercept(h *task.Handler, f Interceptor) {
	run, stage := h.Run, Handling
	if h.Leased != nil {
		stage = Applying
	}
	h.Run = func(ctx context.Context, tx *headrace.Tx, inputs []task.Input) error {
		return f(ctx, callOf(h, stage, inputs...), func() error { return run(ctx, tx, inputs) })
	}
	if h.Leased == nil {
		return
	}
	work := h.Leased.Work
	h.Leased.Work = func(ctx context.Context, in task.Input) (effects headrace.Effects, err error) {
		err = f(ctx, callOf(h, Working, in), func() (err error) {
			effects, err = work(ctx, in)
			return err
		})
		if err == nil && effects == nil { // otherwise nothing would be applied, and f not called for it
			effects = func(context.Context, *headrace.Tx) error { return nil }
		}
		return effects, err
	}
}

func callOf(h *task.Handler, stage Stage, inputs ...task.Input) Call {
	c := Call{Handler: h.Name, Batch: h.Batch, Stage: stage, Deliveries: make([]headrace.Delivery, len(inputs))}
	for i := range inputs {
		c.Deliveries[i] = inputs[i].Delivery
	}
	return c
}

// Identify returns the scope, key and fingerprint of m for each handler of topic, or for
// each of a Router. It may also be called while the consumer runs.
func (rt *Runtime) Identify(topic string, m *message.Message) []headrace.Delivery {
	var list []headrace.Delivery
	for _, h := range rt.handlers {
		if h.Topic != "" && h.Topic != topic {
			continue
		}
		t := &task.Task{Handler: h.Handler, Delivery: inbox.Received(m, h.Scope, topic)}
		_ = h.resolve(t, h.Key, h.Source) // after an error it has the key of its letter
		list = append(list, t.Delivery)
	}
	return list
}

// Hurry makes instances beat, and check each other, n times as often.
func (rt *Runtime) Hurry(n int) {
	for _, d := range []*time.Duration{&rt.pace.Look, &rt.pace.Beat, &rt.pace.Missed, &rt.pace.Most, &rt.pace.Beside} {
		*d /= time.Duration(n)
	}
}
