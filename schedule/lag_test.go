package schedule_test

import (
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/headrace/headrace/schedule"
)

// measured has the source of the next process measure, and returns what reads the lag of the
// schedule h; false if there is none.
func (b *bed) measured() func() (time.Duration, bool) {
	reader := metric.NewManualReader()
	b.meter = metric.NewMeterProvider(metric.WithReader(reader))
	return func() (time.Duration, bool) {
		b.Helper()
		var all metricdata.ResourceMetrics
		if err := reader.Collect(b.Context(), &all); err != nil {
			b.Fatal(err)
		}
		if len(all.ScopeMetrics) == 0 {
			return 0, false
		}
		m := all.ScopeMetrics[0].Metrics[0]
		points := m.Data.(metricdata.Gauge[float64]).DataPoints
		if m.Name != "headrace.schedule.lag" || m.Unit != "s" || len(points) != 1 || points[0].Attributes != attribute.NewSet(attribute.String("headrace.schedule", "h")) {
			b.Fatalf("%+v", m)
		}
		return time.Duration(points[0].Value * float64(time.Second)), true
	}
}

// The gauge says how late the newest tick is: after an outage, and in time. A process that
// starts makes ticks again that others have made; they are not late.
func TestLag(t *testing.T) {
	onEachStore(t, func(b *bed) {
		s := schedule.Schedule{Name: "h", Cron: "@hourly", CatchUp: schedule.All}
		b.known(s, noon.Add(time.Minute))
		lag := b.measured()
		b.set(noon.Add(2*time.Hour + 30*time.Minute))
		stop := b.process(s)
		b.eventually("a lag of half an hour", func() bool {
			got, found := lag()
			return found && got >= 30*time.Minute && got < 45*time.Minute
		})
		b.until(2)
		b.set(noon.Add(3 * time.Hour))
		b.eventually("a lag of seconds", func() bool {
			got, _ := lag()
			return got < 15*time.Minute
		})
		b.until(3)
		b.set(noon.Add(3*time.Hour + 10*time.Minute))
		b.eventually("the process is seen after the tick", func() bool {
			row, _, err := b.st.Operations().Schedules.Get(b.Context(), s.Name)
			return err == nil && row.Seen.After(noon.Add(3*time.Hour))
		})
		stop()
		lag = b.measured()
		b.set(noon.Add(3*time.Hour + 30*time.Minute))
		stop = b.process(s)
		b.eventually("the ticks come again", func() bool { return b.duplicates() >= 3 })
		stop()
		if got, found := lag(); found {
			b.Errorf("a tick that was handled in time is late by %s", got)
		}
	})
}
