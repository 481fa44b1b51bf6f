package instance

import (
	"context"
	"strings"
)

// Action does in a process what a request asks for. Its value is sent to the person as JSON. An error
// that matches ErrRefused says that nothing was changed. ctx ends when the process stops.
type Action func(ctx context.Context, r Request) (value any, err error)

// Does returns the Action that calls do with the Args of a request, decoded.
func Does[A, B any](do func(ctx context.Context, r Request, args A) (B, error)) Action {
	return func(ctx context.Context, r Request) (any, error) {
		var args A
		if err := r.Read(&args); err != nil {
			return nil, err
		}
		return do(ctx, r, args)
	}
}

// Explained is an Action that refuses a request without a reason.
func (do Action) Explained() Action {
	return func(ctx context.Context, r Request) (any, error) {
		if strings.TrimSpace(r.Reason) == "" {
			return nil, Refuse("it needs a reason")
		}
		return do(ctx, r)
	}
}
