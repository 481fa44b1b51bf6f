// Package sleep waits for a time or for the end of a context, whichever comes first, and lets
// work go on for a time after that end.
package sleep

import (
	"context"
	"time"
)

// For waits for d or until ctx ends, and reports whether it waited for all of d.
func For(ctx context.Context, d time.Duration) bool {
	if ctx.Err() != nil {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Outlast returns a context with the values of ctx that ends d after ctx does. stop must be
// called, and ends it too.
func Outlast(ctx context.Context, d time.Duration) (longer context.Context, stop func()) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	unwatch := context.AfterFunc(ctx, func() {
		For(longer, d)
		cancel()
	})
	return longer, func() { unwatch(); cancel() }
}
