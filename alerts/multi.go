package alerts

import (
	"context"
	"errors"
)

// Multi returns a hook that calls each of hooks in turn; nil ones are passed over.
// One that fails does not keep the alert from the ones after it. Where some failed,
// their errors are joined, and another try calls all of them again: a hook whose
// receiver must not see an alert twice goes by Alert.ID. A panic goes on when all
// were called.
func Multi(hooks ...Hook) Hook {
	return func(ctx context.Context, a Alert) error {
		errs := make([]error, 0, len(hooks))
		callAll(ctx, a, hooks, &errs)
		return errors.Join(errs...)
	}
}

func callAll(ctx context.Context, a Alert, hooks []Hook, errs *[]error) {
	for i, hook := range hooks {
		if hook != nil {
			defer callAll(ctx, a, hooks[i+1:], errs) // also when this one panics
			*errs = append(*errs, hook(ctx, a))
			return
		}
	}
}
