package relay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/internal/telemetry"
	"github.com/headrace/headrace/retry"
)

// describe returns the Failure of the sink's error.
func describe(err error, redact func(string) string) dlq.Failure {
	var panicked *retry.PanicError
	if errors.As(err, &panicked) {
		return dlq.Describe(err, panicked.Stack, redact)
	}
	return dlq.Describe(err, nil, redact)
}

// watch registers the gauges of the outbox.
func (r *Relay) watch() (*telemetry.Watch, error) {
	return r.telemetry.Watch("headrace.relay", r.o.Name, r.known, r.depths)
}

// known are the gauges that need no query.
func (r *Relay) known() []telemetry.Value {
	return []telemetry.Value{telemetry.Flag(telemetry.Stalled, r.Stalled())}
}

// depths queries the row counts of the outbox.
func (r *Relay) depths(ctx context.Context) ([]telemetry.Value, error) {
	s, err := r.store.Outbox().Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("gauges: %w", err)
	}
	return telemetry.OfOutbox(s), nil
}

// gaugesTime bounds the wait for a running gauge query at the end.
const gaugesTime = 5 * time.Second

func closeGauges(w *telemetry.Watch) error {
	ctx, cancel := context.WithTimeout(context.Background(), gaugesTime)
	defer cancel()
	return wrap(w.Close(ctx))
}
