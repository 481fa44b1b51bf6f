package retry

import (
	"context"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/attempt"
	"github.com/headrace/headrace/internal/chain"
	"github.com/headrace/headrace/internal/routed"
)

// MiddlewareOptions tune Middleware. The zero value works.
type MiddlewareOptions struct {
	// Timeout ends the context of one attempt. 0 means that an attempt has the
	// message's own. inbox.Middleware inside has a timeout of its own.
	Timeout time.Duration
	// Seed spreads the delays of different messages: see Backoff.Delay. Default: the
	// message's UUID.
	Seed func(m *message.Message) string
	// NackPause is how long an error is kept from the Router, which gives a message back
	// at once, however often. It counts where this is the outermost middleware of this
	// module. Default: 1 s.
	NackPause time.Duration
}

// Middleware returns a middleware for a Watermill Router that runs what stands inside
// again, as p says, until it returns no error. Each attempt has a copy of the message
// as it came, and a context of its own. A panic is a failed attempt.
//
// The delays are waited for in process, each with its message and its goroutine held:
// the broker sees a slow handler, may deliver the message again elsewhere, and all
// attempts are forgotten when the process ends. Keep the whole span of p below what
// the broker allows for a message; for retries over hours that survive a restart use
// package consumer.
//
// Where the attempts are spent or the error is Permanent, the error is an
// *ExhaustedError. An error that says nothing of the message (headrace.IsHeld) or
// comes after the end of the message's context spends no attempt and is returned as it
// is. A handler that ignores its context is waited for.
//
// The right order is dlq.Middleware, Middleware, inbox.Middleware, each of them
// optional. The error of Middleware itself names the option that cannot be.
func Middleware(p Policy, o MiddlewareOptions) (message.HandlerMiddleware, error) {
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("retry.Middleware: %w", err)
	}
	if o.Timeout < 0 {
		return nil, fmt.Errorf("retry.Middleware: option Timeout is negative (%s): 0 means none", o.Timeout)
	}
	pause, err := routed.CheckPause(o.NackPause)
	if err != nil {
		return nil, fmt.Errorf("retry.Middleware: %w", err)
	}
	if o.Seed == nil {
		o.Seed = func(m *message.Message) string { return m.UUID }
	}
	w := middleware{policy: p.WithDefaults(), timeout: o.Timeout, seed: o.Seed}
	return routed.Frame{Stage: chain.Retry, Pause: pause}.Middleware(w.work), nil
}

type middleware struct {
	policy  Policy
	timeout time.Duration
	seed    func(*message.Message) string
}

// work makes attempts until one succeeds or none is left.
func (w middleware) work(ctx context.Context, m *message.Message, next message.HandlerFunc) ([]*message.Message, error) {
	var gone ExhaustedError
	for {
		start := time.Now()
		out, err := w.try(ctx, m, next)
		if err == nil {
			return out, nil
		}
		if ctx.Err() != nil || headrace.IsHeld(err) {
			return nil, err // cancelled is not failed, and nor is what is held
		}
		class := Classify(err)
		gone.add(Failure{Class: class, Err: err, Took: time.Since(start), At: time.Now()})
		switch d := w.policy.Decide(err, class, gone.Attempts, w.seed(m)); d.Action {
		case Never:
			return nil, &gone
		case Later:
			chain.Pause(ctx, d.Delay)
		}
		if ctx.Err() != nil {
			// The handler's error is not hidden by the end of the wait.
			return nil, fmt.Errorf("%w; the wait for the next attempt ended: %w", err, context.Cause(ctx))
		}
	}
}

// try makes one attempt, with a message and a context of its own.
func (w middleware) try(ctx context.Context, m *message.Message, next message.HandlerFunc) (out []*message.Message, err error) {
	if w.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.timeout)
		defer cancel()
	}
	p, err := attempt.Catch(func() (err error) {
		out, err = routed.Call(next, routed.Copy(ctx, m))
		return err
	})
	if p == nil {
		p = attempt.Probe(err, probe)
	}
	if p != nil {
		return nil, &PanicError{Value: p.Value, Stack: p.Stack}
	}
	if w.timeout > 0 {
		for _, o := range out { // the Router publishes them after the end of ctx
			o.SetContext(context.WithoutCancel(o.Context()))
		}
	}
	return out, attempt.Ended(ctx, err)
}

// probe asks of an error what the middleware will.
func probe(err error) {
	_ = headrace.IsHeld(err)
	_ = Classify(err)
	_, _ = delayOf(err)
}
