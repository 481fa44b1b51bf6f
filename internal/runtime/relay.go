package runtime

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/headrace/headrace/outbox/relay"
)

// startRelay joins the relay of the store in this process, if there is a sink, and starts
// the gauges.
func (r *Run) startRelay() (err error) {
	rt := r.rt
	if r.gauges, err = watchGauges(r); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.closeGauges())
		}
	}()
	if r.leave = func(time.Duration) error { return nil }; rt.Sink == nil {
		return nil
	}
	o := rt.Relay
	if o.Redact == nil {
		o.Redact = rt.Redact
	}
	if o.Name = cmp.Or(o.Name, rt.Name); o.Logger == nil {
		o.Logger = rt.Logger
	} else {
		o.Logger = o.Logger.With("consumer", rt.Name)
	}
	o.TracerProvider, o.MeterProvider = cmp.Or(o.TracerProvider, rt.TracerProvider), cmp.Or(o.MeterProvider, rt.MeterProvider)
	parked := o.OnParked
	o.OnParked = func(p relay.Parked) {
		r.alerts.Watch.Wake()
		if parked != nil {
			parked(p)
		}
	}
	shared, leave, err := relay.Acquire(r.Stopping, rt.Store, rt.Sink, rt.Name, o)
	if err != nil {
		return err
	}
	forget := shared.Watch(func(cause error) {
		if errors.Is(cause, relay.ErrOwned) { // the database did not answer at the start
			r.fail(cause)
		}
		r.alerts.Relay(cause)
	})
	r.leave = func(limit time.Duration) error {
		forget()
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		return leave(ctx)
	}
	return nil
}
