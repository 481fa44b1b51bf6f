package depths

import (
	"context"
	"fmt"
	"time"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/internal/local"
	"github.com/headrace/headrace/internal/telemetry"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/store"
)

// letterClasses are the classes that open dead letters are counted by.
var letterClasses = dlq.Classes()

// pendingLong is how long a step has had no known outcome when it is counted: calls that are
// under way, or are made again soon, are not.
const pendingLong = time.Hour

// Reader reads the numbers of a consumer.
type Reader struct {
	Store    store.Store
	Consumer string
	// Local says that it has local handlers.
	Local bool
}

// Read queries how much waits for the consumer, over all its processes.
func (r Reader) Read(ctx context.Context) (values []telemetry.Value, err error) {
	for _, read := range []func(context.Context) ([]telemetry.Value, error){r.backlog, r.letters, r.groups, r.redrives, r.steps} {
		more, err := read(ctx)
		if err != nil {
			return nil, fmt.Errorf("gauges: %w", err)
		}
		values = append(values, more...)
	}
	if !r.Local {
		return values, nil
	}
	lag, err := local.Lag(ctx, r.Store.Outbox(), r.Consumer)
	return append(values, lag...), err
}

func (r Reader) backlog(ctx context.Context) ([]telemetry.Value, error) {
	d, err := r.Store.Backlog().Depth(ctx, r.Consumer)
	return []telemetry.Value{
		{Gauge: telemetry.Backlog, Kind: "ready", N: d.Ready},
		{Gauge: telemetry.Backlog, Kind: "delayed", N: d.Delayed - d.Postponed},
		{Gauge: telemetry.Backlog, Kind: "postponed", N: d.Postponed},
		{Gauge: telemetry.Backlog, Kind: "blocked", N: d.Blocked},
		{Gauge: telemetry.Backlog, Kind: "leased", N: d.Leased},
		{Gauge: telemetry.BacklogOldest, Age: d.Oldest},
	}, err
}

func (r Reader) letters(ctx context.Context) (values []telemetry.Value, err error) {
	for _, class := range letterClasses {
		n, err := r.Store.Letters().Count(ctx, dlq.Filter{State: dlq.Open, Consumer: r.Consumer, Class: class})
		if err != nil {
			return nil, err
		}
		values = append(values, telemetry.Value{Gauge: telemetry.Letters, Kind: string(class), N: n})
	}
	return values, nil
}

func (r Reader) groups(ctx context.Context) ([]telemetry.Value, error) {
	states, err := r.Store.Operations().Groups.States(ctx, r.Consumer)
	oldest := telemetry.Value{Gauge: telemetry.LettersOldest}
	var values []telemetry.Value
	for _, state := range groups.States() {
		values = append(values, telemetry.Value{Gauge: telemetry.Groups, Kind: string(state), N: states[state].Groups})
		oldest.Age = max(oldest.Age, states[state].Oldest)
	}
	return append(values, oldest), err
}

func (r Reader) redrives(ctx context.Context) (values []telemetry.Value, err error) {
	states, err := r.Store.Operations().Redrives.Unfinished(ctx, r.Consumer)
	for _, state := range []job.State{job.Running, job.Paused} {
		values = append(values,
			telemetry.Value{Gauge: telemetry.RedriveJobs, Kind: string(state), N: states[state].Jobs},
			telemetry.Value{Gauge: telemetry.RedriveLetters, Kind: string(state), N: states[state].Queued})
	}
	return values, err
}

func (r Reader) steps(ctx context.Context) (values []telemetry.Value, err error) {
	steps, err := r.Store.Operations().StepAdmin.Count(ctx, r.Consumer, pendingLong)
	for _, state := range []ledger.State{ledger.Pending, ledger.Parked, ledger.Skipped} {
		values = append(values, telemetry.Value{Gauge: telemetry.Steps, Kind: string(state), N: steps[state]})
	}
	return values, err
}
