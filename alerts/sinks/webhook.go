package sinks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/headrace/headrace/alerts"
)

// Webhook returns a hook that posts each alert as JSON to rawURL:
//
//	{"version": 1, "type": "headrace.group_failing", "timestamp": "2026-01-02T03:04:05Z",
//	 "data": {"id": "alert-…", "kind": "group_failing", "consumer": "billing", "handler": "orders.paid",
//	  "topic": "orders", "class": "permanent", "error_fingerprint": "…", "letter_id": 7, "text": "…",
//	  "count": 1, "groups": 1, "since": "2026-01-02T03:04:05Z"}}
//
// The fields of data are those of alerts.Alert, timestamp is its At. Empty texts and a letter_id
// of 0 are left out. It never contains a payload, a key or the text of an error.
//
// The request is signed by the Standard Webhooks specification
// (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md),
// for which most languages have a library. The headers are webhook-id, which is alerts.Alert.ID
// and the same in a retry, webhook-timestamp in Unix seconds, and webhook-signature,
// "v1," and the base64 of HMAC-SHA256 over "id.timestamp.body". secret is the
// specification's secret: "whsec_" and 24 to 64 bytes in base64.
//
// Any response but 2xx is a failure, also a redirect: none is followed. Retry-After of a
// 429 or 503 is observed, up to 15 minutes. At most 4 KiB of a response are read. Proxies
// of the environment are not used. Addresses outside of the public internet are rejected
// when they are dialed, whatever name led to them (ErrAddress).
//
// The error names the mistake in the arguments, and shows neither the secret nor the URL.
// Several goroutines may call Webhook and the hook at once. See [WebhookV2] for incidents.
func Webhook(rawURL, secret string, o Options) (alerts.Hook, error) {
	o.Least = cmp.Or(o.Least, alerts.Info) // also that it is over
	w, err := newWebhook(rawURL, []string{secret}, o)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, a alerts.Alert) error { return w.send(ctx, a, body) }, nil
}

// WebhookV2 returns a sink that posts each alert as JSON to rawURL:
//
//	{"version": 2, "type": "headrace.group_failing", "timestamp": "2026-01-02T03:04:05Z",
//	 "status": "firing", "severity": "warning", "key": "…", "labels": {"environment": "prod", "consumer": "billing"},
//	 "links": [{"name": "Group", "url": "https://…"}], "data": {…}}
//
// status is the alert's Phase, "event" for one without; key names the incident, the same until
// it is resolved; labels are those of alerts.Alert.Labels. data has the other fields, as for [Webhook],
// whose rules hold here, too.
//
// secrets are one or two: while a receiver changes its secret, a request has the signatures of
// both, and the receiver accepts one.
func WebhookV2(rawURL string, secrets []string, o Options) (alerts.Sink, error) {
	w, err := newWebhook(rawURL, secrets, o)
	if err != nil {
		return nil, err
	}
	return w, nil
}

type webhook struct {
	*caller
	keys [][]byte
}

func newWebhook(rawURL string, secrets []string, o Options) (*webhook, error) {
	c, err := newCaller("webhook", rawURL, o)
	if err != nil {
		return nil, err
	}
	if len(secrets) < 1 || len(secrets) > 2 {
		return nil, errors.New("sinks: webhook: there must be one secret, or two while it changes")
	}
	w := &webhook{caller: c}
	for _, secret := range secrets {
		k, err := key(secret)
		if err != nil {
			return nil, fmt.Errorf("sinks: webhook: %w", err)
		}
		w.keys = append(w.keys, k)
	}
	return w, nil
}

// Send sends an alert in version 2.
func (w *webhook) Send(ctx context.Context, a alerts.Alert) error { return w.send(ctx, a, bodyV2) }

// send sends the body of an alert, signed.
func (w *webhook) send(ctx context.Context, a alerts.Alert, body func(alerts.Alert) ([]byte, error)) error {
	if !w.Wants(a) {
		return nil
	}
	content, err := body(a)
	if err != nil {
		return &alerts.SendError{Reason: "webhook: the alert cannot be encoded", Refused: true}
	}
	now := time.Now()
	signatures := make([]string, len(w.keys))
	for i, k := range w.keys {
		signatures[i] = sign(k, a.ID, now, content)
	}
	return w.post(ctx, content, "webhook-id", a.ID, "webhook-timestamp", strconv.FormatInt(now.Unix(), 10), "webhook-signature", strings.Join(signatures, " "))
}
