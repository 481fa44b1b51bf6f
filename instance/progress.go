package instance

import "context"

type progressKey struct{}

// WithProgress returns a context in which Progress calls report.
func WithProgress(ctx context.Context, report func(value any)) context.Context {
	return context.WithValue(ctx, progressKey{}, report)
}

// Progress reports how far a long action is, to the person who waits: a value of the type of its
// answer. It does nothing in a context without WithProgress.
func Progress(ctx context.Context, value any) {
	if report, ok := ctx.Value(progressKey{}).(func(any)); ok {
		report(value)
	}
}
