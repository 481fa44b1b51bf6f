package alerts_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
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
	_ = hook(context.Background(), alerts.Alert{Kind: alerts.Paused, Consumer: "billing", Text: "the database does not take our statements"})
	// Output:
	// level=WARN msg="alert: the database does not take our statements" kind=paused consumer=billing
}

// A receiver checks the signature with any library for Standard Webhooks. This one is
// on the same machine, which has to be allowed.
func ExampleWebhook() {
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(r.Method, r.URL.Path, r.Header.Get("webhook-id"))
		w.WriteHeader(http.StatusNoContent)
	}))
	defer receiver.Close()
	hook, err := alerts.Webhook(receiver.URL+"/alerts", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", alerts.WebhookOptions{
		Plain: true, // without TLS: never beyond this machine
		Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(hook(context.Background(), alerts.Alert{ID: "alert-1", Kind: alerts.Paused, Consumer: "billing"}))

	_, err = alerts.Webhook("https://169.254.169.254/latest", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", alerts.WebhookOptions{})
	fmt.Println(err)
	// Output:
	// POST /alerts alert-1
	// <nil>
	// alerts: webhook: the address is private or special: allow its network by WebhookOptions.Allow, if it is meant
}
