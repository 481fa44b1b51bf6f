package sinks_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/alerts/sinks"
)

// A receiver checks the signature with any library for Standard Webhooks. This one is
// on the same machine, which has to be allowed.
func ExampleWebhook() {
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(r.Method, r.URL.Path, r.Header.Get("webhook-id"))
		w.WriteHeader(http.StatusNoContent)
	}))
	defer receiver.Close()
	hook, err := sinks.Webhook(receiver.URL+"/alerts", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", sinks.Options{
		Plain: true, // without TLS: never beyond this machine
		Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(hook(context.Background(), alerts.Alert{ID: "alert-1", Kind: alerts.Paused, Consumer: "billing"}))

	_, err = sinks.Webhook("https://169.254.169.254/latest", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", sinks.Options{})
	fmt.Println(err)
	// Output:
	// POST /alerts alert-1
	// <nil>
	// sinks: webhook: the address is private or special: allow its network by Options.Allow, if it is meant
}

// A consumer may have several sinks. This one is for alerts that are errors, or worse.
func ExamplePagerDuty() {
	pager, err := sinks.PagerDuty(sinks.PagerDutyEU, "0123456789abcdef0123456789abcdef", sinks.Options{Least: alerts.Error})
	if err != nil {
		fmt.Println(err)
		return
	}
	o := alerts.Options{Sinks: []alerts.Sink{pager}}
	fmt.Println(o.Sinks[0].Name(), o.Validate())
	// Output: pagerduty <nil>
}

// The URL of an incoming webhook is a secret.
func ExampleSlack() {
	team, err := sinks.Slack("https://hooks.slack.com/services/T0/B0/secret", sinks.Options{Name: "team"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(team.Name())
	_, err = sinks.Slack("http://hooks.slack.com/services/T0/B0/secret", sinks.Options{})
	fmt.Println(err)
	// Output:
	// team
	// sinks: slack: the URL is http: use https, or for tests against this machine Options.Plain
}

// All Alertmanagers of a cluster are listed. They are most often in a private network.
func ExampleAlertmanager() {
	sink, err := sinks.Alertmanager([]string{"https://am-1.internal:9093", "https://am-2.internal:9093"}, sinks.Options{
		Allow: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(sink.Name())
	// Output: alertmanager
}

// While a receiver changes its secret, requests are signed with both.
func ExampleWebhookV2() {
	sink, err := sinks.WebhookV2("https://ops.example.com/alerts",
		[]string{"whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}, sinks.Options{Name: "ops"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(sink.Name())
	// Output: ops
}

// A dead man's switch is called as long as the consumer lives.
func ExampleHeartbeat() {
	beats := make(chan struct{})
	service := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(beats) }))
	defer service.Close()
	pulse, err := sinks.Heartbeat(service.URL, sinks.Options{Plain: true, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() { <-beats; stop() }()
	pulse.Run(ctx, func() error { return nil }, nil) // yours: go pulse.Run(ctx, c.Alive, nil) beside c.Run(ctx)
	fmt.Println("called")
	// Output: called
}
