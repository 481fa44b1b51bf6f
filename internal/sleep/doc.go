// Package sleep waits for a time or for the end of a context, whichever comes first.
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
