package steps

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/systems"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/retry"
)

// turn waits until the step may make its next call of its system.
func (d *doing) turn(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(d.run, func() { cancel(context.Cause(d.run)) })()
	if err := d.Systems.Paused(ctx, d.r.System); err != nil {
		return d.paused(err)
	}
	if d.visit == nil {
		d.visit, err = d.Systems.Enter(ctx, d.r.System)
	}
	if err == nil {
		err = d.visit.Call(ctx)
	}
	if err != nil {
		return retry.Postpone(time.Second, fmt.Errorf("step %s did not begin within the limit of %s: %w", d.r.Name, d.r.System, errors.Join(err, endOf(ctx))))
	}
	return d.paused(d.Systems.Paused(ctx, d.r.System)) // it may have waited
}

// paused puts the message off if err says that the system is paused. An operator's pause
// may last longer than messages are put off otherwise.
func (d *doing) paused(err error) error {
	p, ok := errors.AsType[*systems.PausedError](err)
	if !ok {
		return err
	}
	delay := p.Delay(d.m.ID.Key)
	return retry.PostponeWithin(delay, d.m.Postponed+delay+time.Minute, fmt.Errorf("step %s: %w", d.r.Name, err))
}

// limited pauses the system of a step in all processes if it has answered 429.
func (d *doing) limited(ctx context.Context, err error) {
	if wait, ok := ledger.RateLimited(err); ok {
		if err := d.Systems.Limited(ctx, d.r.System, wait); err != nil {
			d.warn("a system that answered 429 could not be paused", d.r, "error", encode.Said(err))
		}
	}
}

// leave ends the step's use of its system.
func (d *doing) leave() {
	if d.visit != nil {
		d.visit.Leave()
	}
}
