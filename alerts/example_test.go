package alerts_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/headrace/headrace/alerts"
)

// A hook is a function; Multi calls several.
func ExampleMulti() {
	page := func(ctx context.Context, a alerts.Alert) {
		if a.Kind == alerts.HandlerStuck {
			fmt.Println("page:", a.Consumer, a.Text)
		}
	}
	hook := alerts.Multi(alerts.Log(slog.New(slog.DiscardHandler)), page)
	hook(context.Background(), alerts.Alert{Kind: alerts.HandlerStuck, Consumer: "billing", Text: "orders.paid runs for 5m0s, its deadline was 30s"})
	// Output:
	// page: billing orders.paid runs for 5m0s, its deadline was 30s
}
