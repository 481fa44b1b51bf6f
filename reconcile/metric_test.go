package reconcile_test

import (
	"context"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// measured has the next process measure, and returns what reads how many items are missing;
// -1 if that is not known.
func (b *bed) measured() func() int64 {
	reader := metric.NewManualReader()
	b.config.MeterProvider = metric.NewMeterProvider(metric.WithReader(reader))
	labels := attribute.NewSet(attribute.String("headrace.consumer", "billing"), attribute.String("headrace.handler", b.job.Name))
	return func() int64 {
		b.Helper()
		var all metricdata.ResourceMetrics
		if err := reader.Collect(context.Background(), &all); err != nil {
			b.Fatal(err)
		}
		for _, scope := range all.ScopeMetrics {
			for _, m := range scope.Metrics {
				if m.Name != "headrace.reconcile.missing" {
					continue
				}
				points := m.Data.(metricdata.Gauge[int64]).DataPoints
				if len(points) != 1 || points[0].Attributes != labels {
					b.Fatalf("%+v", points)
				}
				return points[0].Value
			}
		}
		return -1
	}
}

// The gauge says what was missing in the last run, also in a process that has not run it.
func TestMetric(t *testing.T) {
	onEachStore(t, func(b *bed) {
		b.sell(5*time.Hour, numbers(1, 3)...)
		missing := b.measured()
		b.says(b.tick(), 3, 3, 3)
		b.until("3 are missing", func() bool { return missing() == 3 })
		b.stop()
		missing = b.measured()
		b.start()
		b.until("3 are missing in the next process", func() bool { return missing() == 3 })
		b.says(b.tick(), 3, 0, 0)
		b.until("none is missing", func() bool { return missing() == 0 })
		b.once(numbers(1, 3)...)
	})
}
