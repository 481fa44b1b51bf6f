package alerts

import (
	"context"
	"errors"
	"slices"
)

// Multi returns a hook that calls each of hooks in turn, except nil ones. If one fails,
// the later ones are called anyway. The errors are joined, and a retry calls all of them
// again: a hook whose receiver must not get an alert twice checks Alert.ID. A panic
// continues after all hooks were called.
func Multi(hooks ...Hook) Hook {
	return func(ctx context.Context, a Alert) (err error) {
		var errs []error
		defer func() { err = errors.Join(errs...) }() // after all others
		for _, hook := range slices.Backward(hooks) {
			if hook != nil { // deferred, so that the others are called when it panics
				defer func() { errs = append(errs, hook(ctx, a)) }()
			}
		}
		return nil
	}
}

// All returns a hook that sends an alert to each of o's Sinks, as Multi does, in the words of o's
// Texts.
func (o Options) All() Hook {
	hooks := make([]Hook, len(o.Sinks))
	for i, sink := range o.Sinks {
		hooks[i] = func(ctx context.Context, a Alert) error { return sink.Send(ctx, o.Say(sink.Name(), a)) }
	}
	return Multi(hooks...)
}
