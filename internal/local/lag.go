package local

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/internal/telemetry"
	"github.com/headrace/headrace/outbox"
)

// Lag queries how much waits on a consumer's line, and for how long. It reads a bounded
// number of rows.
func Lag(ctx context.Context, box outbox.Admin, consumer string) ([]telemetry.Value, error) {
	list, err := box.Topics(ctx, outbox.LineOf(consumer))
	if err != nil {
		return nil, fmt.Errorf("gauges: %w", err)
	}
	depth, oldest := telemetry.Value{Gauge: telemetry.Line}, telemetry.Value{Gauge: telemetry.LineOldest}
	for _, t := range list {
		depth.N, oldest.Age = depth.N+t.Events, max(oldest.Age, t.Oldest)
	}
	return []telemetry.Value{depth, oldest}, nil
}
