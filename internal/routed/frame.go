package routed

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/internal/chain"
)

// DefaultPause is the pause before an error goes to the Router.
const DefaultPause = time.Second

// Frame is what surrounds the work of a middleware.
type Frame struct {
	Stage chain.Stage
	// Pause is how long an error is kept from the Router.
	Pause time.Duration
}

// Work does a middleware's work for m. ctx is m's with the stage entered. What stands
// inside is called through next, with copies of m.
type Work func(ctx context.Context, m *message.Message, next message.HandlerFunc) ([]*message.Message, error)

// Middleware returns work in its frame. The error of a wrong order matches
// chain.ErrOrder.
func (f Frame) Middleware(work Work) message.HandlerMiddleware {
	return func(next message.HandlerFunc) message.HandlerFunc {
		return func(m *message.Message) (out []*message.Message, err error) {
			ctx, outermost, err := chain.Enter(m.Context(), message.HandlerNameFromCtx(m.Context()), f.Stage)
			if err != nil {
				return nil, err
			}
			returned := false
			defer func() {
				if !outermost || returned && err == nil {
					return
				}
				chain.Pause(ctx, f.Pause)
				if !returned {
					m.Nack() // after runtime.Goexit nobody else does
				}
			}()
			out, err = work(ctx, m, next)
			returned = true
			return out, err
		}
	}
}

// Copy returns a copy of m under ctx, which shares nothing with m.
func Copy(ctx context.Context, m *message.Message) *message.Message {
	c := m.Copy()
	c.Payload = bytes.Clone(m.Payload)
	c.SetContext(ctx)
	return c
}

// CheckPause returns an error that names the option, or the pause with its default.
func CheckPause(d time.Duration) (time.Duration, error) {
	switch {
	case d < 0:
		return 0, fmt.Errorf("option NackPause is negative (%s): 0 gives the default", d)
	case d == 0:
		return DefaultPause, nil
	}
	return d, nil
}
