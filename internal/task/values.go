package task

import "context"

// WithValues returns ctx with the values of another context, where it has none itself. It
// ends only with ctx: the end of a subscription does not end work under way.
func WithValues(ctx, values context.Context) context.Context { return withValues{ctx, values} }

type withValues struct {
	context.Context
	values context.Context
}

// Value implements context.Context.
func (c withValues) Value(key any) any {
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.values.Value(key)
}
