package reporting

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/headrace/headrace/alerts"
)

// Log returns the hook of a consumer without sinks: alerts.Log, without what the consumer
// logs by itself with the cause: that the database is away, and that it is back.
func Log(logger *slog.Logger) alerts.Hook {
	log := alerts.Log(logger)
	var database atomic.Bool // the newest pause is that of the database, not a person's
	return func(ctx context.Context, a alerts.Alert) error {
		if a.Kind == alerts.Paused {
			database.Store(a.Severity == alerts.Critical)
		}
		if (a.Kind == alerts.Paused || a.Kind == alerts.Resumed) && database.Load() {
			return nil
		}
		return log(ctx, a)
	}
}
