package runtime

import (
	"context"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/internal/depths"
	"github.com/headrace/headrace/internal/rehearsal"
	"github.com/headrace/headrace/internal/telemetry"
)

// beginCounters has the counters begin at 0.
func beginCounters(rt *Runtime) *telemetry.Upkeep {
	for _, h := range rt.handlers {
		h.Telemetry.Begin(h.Topic)
	}
	u := telemetry.NewUpkeep(rt.Telemetry, rt.Name, groups.Openings(), job.Ends(), rehearsal.Outcomes())
	for _, sink := range rt.Alerts.Sinks {
		for _, kind := range alerts.Kinds() {
			u.Alerts(sink.Name(), string(kind), true, 0)
			u.Alerts(sink.Name(), string(kind), false, 0)
		}
	}
	return u
}

// watchGauges registers the gauges.
func watchGauges(r *Run) (*telemetry.Watch, error) {
	rt := r.rt
	read := depths.Reader{Store: rt.Store, Consumer: rt.Name, Local: len(rt.Local()) > 0}.Read
	return rt.Telemetry.Watch("headrace.consumer", rt.Name, func() []telemetry.Value { return known(r) }, read)
}

// known are the gauges that need no query.
func known(r *Run) []telemetry.Value {
	values := append(r.rt.Subscriptions.Gauges(), r.upkeep.Values()...)
	return append(values,
		telemetry.Flag(telemetry.Ready, r.rt.Ready() == nil), telemetry.Flag(telemetry.Paused, r.rt.Pause.Paused()),
		telemetry.Value{Gauge: telemetry.AlertsDropped, N: r.alerts.Dropped()})
}

// closeGauges unregisters the gauges, before the user closes the store.
func (r *Run) closeGauges() error {
	ctx, cancel := context.WithTimeout(context.Background(), Grace)
	defer cancel()
	return r.gauges.Close(ctx)
}
