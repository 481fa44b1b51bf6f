package runtime

import (
	"context"
	"fmt"
	"time"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/internal/local"
	"github.com/headrace/headrace/internal/telemetry"
	"github.com/headrace/headrace/ledger"
)

// letterClasses are the classes that open dead letters are counted by.
var letterClasses = dlq.Classes()

// pendingLong is how long a step has had no known outcome when it is counted: calls that are
// under way, or are made again soon, are not.
const pendingLong = time.Hour

// depths queries how much waits for this consumer, over all its processes.
func (rt *Runtime) depths(ctx context.Context) ([]telemetry.Value, error) {
	d, err := rt.Store.Backlog().Depth(ctx, rt.Name)
	if err != nil {
		return nil, fmt.Errorf("gauges: %w", err)
	}
	values := []telemetry.Value{
		{Gauge: telemetry.Backlog, Kind: "ready", N: d.Ready},
		{Gauge: telemetry.Backlog, Kind: "delayed", N: d.Delayed - d.Postponed},
		{Gauge: telemetry.Backlog, Kind: "postponed", N: d.Postponed},
		{Gauge: telemetry.Backlog, Kind: "blocked", N: d.Blocked},
		{Gauge: telemetry.Backlog, Kind: "leased", N: d.Leased},
		{Gauge: telemetry.BacklogOldest, Age: d.Oldest},
	}
	for _, class := range letterClasses {
		n, err := rt.Store.Letters().Count(ctx, dlq.Filter{State: dlq.Open, Consumer: rt.Name, Class: class})
		if err != nil {
			return nil, fmt.Errorf("gauges: %w", err)
		}
		values = append(values, telemetry.Value{Gauge: telemetry.Letters, Kind: string(class), N: n})
	}
	steps, err := rt.Store.Operations().StepAdmin.Count(ctx, rt.Name, pendingLong)
	if err != nil {
		return nil, fmt.Errorf("gauges: %w", err)
	}
	for _, state := range []ledger.State{ledger.Pending, ledger.Parked, ledger.Skipped} {
		values = append(values, telemetry.Value{Gauge: telemetry.Steps, Kind: string(state), N: steps[state]})
	}
	if len(rt.Local()) == 0 {
		return values, nil
	}
	lag, err := local.Lag(ctx, rt.Store.Outbox(), rt.Name)
	return append(values, lag...), err
}

// closeGauges unregisters the gauges, before the user closes the store.
func (r *Run) closeGauges() error {
	ctx, cancel := context.WithTimeout(context.Background(), Grace)
	defer cancel()
	return r.gauges.Close(ctx)
}
