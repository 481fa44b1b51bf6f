package reporting

import (
	"context"
	"log/slog"

	"github.com/headrace/headrace/alerts"
)

// back is the text of the alert that the database takes statements again.
const back = "messages are handled again"

// Log returns the hook of a consumer without sinks: alerts.Log, without what the consumer
// logs by itself with the cause: that the database is away, and that it is back.
func Log(logger *slog.Logger) alerts.Hook {
	log := alerts.Log(logger)
	return func(ctx context.Context, a alerts.Alert) error {
		if a.Kind == alerts.Paused && a.Severity == alerts.Critical || a.Kind == alerts.Resumed && a.Text == back {
			return nil
		}
		return log(ctx, a)
	}
}
