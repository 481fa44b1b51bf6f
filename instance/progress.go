package instance

import "context"

type progressKey struct{}

// WithProgress returns a context in which Progress calls report.
func WithProgress(ctx context.Context, report func(value any)) context.Context {
	return context.WithValue(ctx, progressKey{}, report)
}

// Progress says how far a long action is: a value as its answer will be. The person who waits for the
// answer sees it. It does nothing in a context without WithProgress.
func Progress(ctx context.Context, value any) {
	if report, ok := ctx.Value(progressKey{}).(func(any)); ok {
		report(value)
	}
}
