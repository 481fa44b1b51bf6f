package steps

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/retry"
)

// turn waits until the step may make its next call of its system.
func (d *doing) turn(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(d.run, func() { cancel(context.Cause(d.run)) })()
	if d.visit == nil {
		d.visit, err = d.Systems.Enter(ctx, d.r.System)
	}
	if err == nil {
		err = d.visit.Call(ctx)
	}
	if err != nil {
		return retry.Postpone(time.Second, fmt.Errorf("step %s did not begin within the limit of %s: %w", d.r.Name, d.r.System, errors.Join(err, endOf(ctx))))
	}
	return nil
}

// leave ends the step's use of its system.
func (d *doing) leave() {
	if d.visit != nil {
		d.visit.Leave()
	}
}
