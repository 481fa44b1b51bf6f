package headrace

import "context"

type rehearsalKey struct{}

// Rehearsing reports whether ctx is that of a handler that runs in a rehearsal: everything
// that it does in its transaction is rolled back, and its events are not published. A handler
// that is Rehearsable (package consumer) and has effects elsewhere leaves those out then.
func Rehearsing(ctx context.Context) bool { return ctx.Value(rehearsalKey{}) != nil }

// WithRehearsal returns a context for which Rehearsing is true. It is for engines, and for
// tests of handlers.
func WithRehearsal(ctx context.Context) context.Context {
	return context.WithValue(ctx, rehearsalKey{}, true)
}
