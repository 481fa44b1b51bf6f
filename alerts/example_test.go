package alerts_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/headrace/headrace/alerts"
)

// A hook is a function; Multi calls several.
func ExampleMulti() {
	page := func(ctx context.Context, a alerts.Alert) error {
		if a.Kind == alerts.HandlerStuck {
			fmt.Println("page:", a.Consumer, a.Text)
		}
		return nil // an error means: try again later
	}
	hook := alerts.Multi(alerts.Log(slog.New(slog.DiscardHandler)), page)
	err := hook(context.Background(), alerts.Alert{Kind: alerts.HandlerStuck, Consumer: "billing", Text: "orders.paid runs for 5m0s, its deadline was 30s"})
	fmt.Println(err)
	// Output:
	// page: billing orders.paid runs for 5m0s, its deadline was 30s
	// <nil>
}

// Log is what a consumer without another hook does.
func ExampleLog() {
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	hook := alerts.Log(logger)
	_ = hook(context.Background(), alerts.Alert{Kind: alerts.Paused, Consumer: "billing", Text: "the database cannot run our statements"})
	// Output:
	// level=WARN msg="alert: the database cannot run our statements" kind=paused consumer=billing
}
