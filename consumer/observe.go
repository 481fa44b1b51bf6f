package consumer

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/internal/telemetry"
)

// letterClasses are the classes that open dead letters are counted by.
var letterClasses = []dlq.Class{dlq.Exhausted, dlq.Permanent, dlq.Conflict, dlq.Undecodable, dlq.Crashed}

// observe makes what the handlers record with, before there are any.
func (c *Consumer) observe() (err error) {
	if c.telemetry, err = telemetry.New(c.config.TracerProvider, c.config.MeterProvider); err != nil {
		return fmt.Errorf("option Config.MeterProvider: %w", err)
	}
	return nil
}

// watch registers the gauges of the consumer for as long as it runs.
func (r *run) watch() (err error) {
	r.gauges, err = r.c.telemetry.Watch("headrace.consumer", r.c.name, r.known, r.depths)
	return err
}

// known are the gauges that need no query.
func (r *run) known() []telemetry.Value {
	return []telemetry.Value{{Gauge: telemetry.AlertsDropped, N: r.dispatcher.Dropped()}}
}

// depths asks what waits for this consumer, over all its processes.
func (r *run) depths(ctx context.Context) ([]telemetry.Value, error) {
	d, err := r.c.st.Backlog().Depth(ctx, r.c.name)
	if err != nil {
		return nil, fmt.Errorf("gauges: %w", err)
	}
	values := []telemetry.Value{
		{Gauge: telemetry.Backlog, Kind: "ready", N: d.Ready},
		{Gauge: telemetry.Backlog, Kind: "delayed", N: d.Delayed},
		{Gauge: telemetry.Backlog, Kind: "blocked", N: d.Blocked},
		{Gauge: telemetry.BacklogOldest, Age: d.Oldest},
	}
	for _, class := range letterClasses {
		n, err := r.c.st.Letters().Count(ctx, dlq.Filter{State: dlq.Open, Consumer: r.c.name, Class: class})
		if err != nil {
			return nil, fmt.Errorf("gauges: %w", err)
		}
		values = append(values, telemetry.Value{Gauge: telemetry.Letters, Kind: string(class), N: n})
	}
	return values, nil
}

// unwatch takes the gauges away, before the user closes the store.
func (r *run) unwatch() error {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	return r.gauges.Close(ctx)
}
