package relay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/internal/telemetry"
	"github.com/headrace/headrace/retry"
)

// contextOf is the trace context that the send of e belongs to: the one that the
// published message will show, so that a trace of the event's own goes on.
func contextOf(e *headrace.Event) headrace.TraceContext {
	if own := headrace.TraceFrom(e.Metadata); own.Parent != "" {
		return own
	}
	return e.Trace
}

// failureOf is the class of a failed call of Publish and the error's Go type, without
// the sink's words.
func failureOf(err error) (class, goType string) {
	var panicked *retry.PanicError
	switch {
	case err == nil:
		return "", ""
	case errors.Is(err, errFull), errors.Is(err, ErrStuck):
		class = string(retry.Timeout)
	case errors.As(err, &panicked):
		class = string(retry.Panic)
	default:
		class = "refused"
	}
	return class, fmt.Sprintf("%T", err)
}

// describe returns what is kept of the sink's error. Its words go into the row, where a
// person asks for them, and never into logs: they may hold the payload or a DSN.
func describe(err error) dlq.Failure {
	var panicked *retry.PanicError
	if errors.As(err, &panicked) {
		return dlq.Describe(err, panicked.Stack)
	}
	return dlq.Describe(err, nil)
}

// watch registers the gauges of the outbox.
func (r *Relay) watch() (*telemetry.Watch, error) {
	return r.telemetry.Watch("headrace.relay", r.o.Name, r.known, r.depths)
}

// known are the gauges that need no query.
func (r *Relay) known() []telemetry.Value {
	v := telemetry.Value{Gauge: telemetry.Stalled}
	if r.Stalled() {
		v.N = 1
	}
	return []telemetry.Value{v}
}

// depths asks what the outbox holds.
func (r *Relay) depths(ctx context.Context) ([]telemetry.Value, error) {
	s, err := r.store.Outbox().Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("gauges: %w", err)
	}
	return []telemetry.Value{
		{Gauge: telemetry.Outbox, Kind: "ready", N: s.Ready},
		{Gauge: telemetry.Outbox, Kind: "delayed", N: s.Delayed},
		{Gauge: telemetry.Outbox, Kind: "parked", N: s.Parked},
		{Gauge: telemetry.Outbox, Kind: "behind", N: s.Behind},
		{Gauge: telemetry.OutboxOldest, Age: s.Oldest},
	}, nil
}

// gaugesTime bounds the wait for a query of the gauges at the end.
const gaugesTime = 5 * time.Second

func closeGauges(w *telemetry.Watch) error {
	ctx, cancel := context.WithTimeout(context.Background(), gaugesTime)
	defer cancel()
	if err := w.Close(ctx); err != nil {
		return fmt.Errorf("relay: %w", err)
	}
	return nil
}
