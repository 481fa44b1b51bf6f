package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// Stripe is the Scheme of Stripe-Signature, version v1. The message's id is the event's.
// Secrets are the endpoint's signing secrets ("whsec_…"); give two while you rotate them.
//
// The signature covers body and time. Stripe repeats a request for up to 3 days. It may send
// two events of one fact: then use a key of data.object.id and type. See the caveat of the
// package for SameWhen. Reconcile with the API's list of events, which reaches back 30 days.
func Stripe(secrets ...string) Scheme {
	verify := func(r Request) (string, error) {
		at, sums := stripeSignature(r.Header.Get("Stripe-Signature"))
		if !signed(secrets, sums, []byte(at), []byte("."), r.Body) {
			return "", unsigned(r.Header, "Stripe-Signature")
		}
		if err := recent(at, r.Time); err != nil {
			return "", err
		}
		var event struct {
			ID string `json:"id"`
		}
		if json.Unmarshal(r.Body, &event) != nil {
			return "", nil // Stripe signed it: without an id it becomes a dead letter
		}
		return event.ID, nil
	}
	sign := func(_ string, at time.Time, body []byte) map[string]string {
		seconds := strconv.FormatInt(at.Unix(), 10)
		return map[string]string{"Stripe-Signature": "t=" + seconds + ",v1=" + hex.EncodeToString(sum(secrets[0], []byte(seconds), []byte("."), body))}
	}
	return Scheme{Verify: verify, SignsID: true, Sign: sign, mistake: checkSecrets("Stripe", secrets)}
}

// stripeSignature returns the time and the signatures of version v1 of a header
// "t=…,v1=…,v1=…".
func stripeSignature(header string) (at string, sums [][]byte) {
	for part := range strings.SplitSeq(header, ",") {
		switch name, value, _ := strings.Cut(strings.TrimSpace(part), "="); name {
		case "t":
			at = value
		case "v1":
			if sum, err := hex.DecodeString(value); err == nil {
				sums = append(sums, sum)
			}
		}
	}
	return at, sums
}

// GitHub is the Scheme of X-Hub-Signature-256. The message's id is X-GitHub-Delivery, the
// same in all deliveries of an event. Secrets are those of the webhook.
//
// The signature covers the body alone, so the handler needs a key from the body, and the
// stored headers (X-GitHub-Event, X-GitHub-Delivery, X-GitHub-Hook-ID) prove nothing.
//
// GitHub never repeats a request by itself. Reconcile with the API: list the webhook's
// deliveries of the last 3 days, and have those that failed delivered again.
func GitHub(secrets ...string) Scheme {
	return bodySigned("GitHub", secrets, "X-Hub-Signature-256", "sha256=", hex.DecodeString, hex.EncodeToString,
		"X-GitHub-Delivery", "X-GitHub-Event", "X-GitHub-Hook-ID")
}

// Shopify is the Scheme of X-Shopify-Hmac-Sha256. The message's id is X-Shopify-Webhook-Id,
// the same in all deliveries of an event to one subscription. Secrets are the app's client
// secrets.
//
// The signature covers the body alone, so the handler needs a key from the body, and the
// stored headers prove nothing. Decide by the body: a captured orders/updated passes at the
// URL of orders/paid too, so look at financial_status.
//
// Shopify waits 5 s, tries 8 times in 4 hours and then deletes the subscription. Reconcile
// with the API: list what was updated since the last time.
func Shopify(secrets ...string) Scheme {
	return bodySigned("Shopify", secrets, "X-Shopify-Hmac-Sha256", "", base64.StdEncoding.DecodeString, base64.StdEncoding.EncodeToString,
		"X-Shopify-Webhook-Id", "X-Shopify-Event-Id", "X-Shopify-Topic", "X-Shopify-Shop-Domain", "X-Shopify-API-Version", "X-Shopify-Triggered-At")
}

// bodySigned is a Scheme whose signature is a header that covers the body alone. The first
// of headers is the id.
func bodySigned(preset string, secrets []string, signature, prefix string, decode func(string) ([]byte, error), encode func([]byte) string, headers ...string) Scheme {
	verify := func(r Request) (string, error) {
		text, found := strings.CutPrefix(r.Header.Get(signature), prefix)
		sum, err := decode(text)
		if !found || err != nil || !signed(secrets, [][]byte{sum}, r.Body) {
			return "", unsigned(r.Header, signature)
		}
		return r.Header.Get(headers[0]), nil
	}
	sign := func(id string, _ time.Time, body []byte) map[string]string {
		return map[string]string{signature: prefix + encode(sum(secrets[0], body)), headers[0]: id}
	}
	return Scheme{Verify: verify, Headers: headers, Sign: sign, mistake: checkSecrets(preset, secrets)}
}

// signed reports whether one of sums is the HMAC-SHA256 of the parts with one of secrets. It
// compares in constant time, and never accepts the empty secret.
func signed(secrets []string, sums [][]byte, parts ...[]byte) bool {
	found := false
	for _, secret := range secrets {
		want := sum(secret, parts...)
		for _, sum := range sums {
			if hmac.Equal(want, sum) && secret != "" {
				found = true
			}
		}
	}
	return found
}

// sum is the HMAC-SHA256 of the parts with secret.
func sum(secret string, parts ...[]byte) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	for _, part := range parts {
		_, _ = mac.Write(part) // a hash never fails
	}
	return mac.Sum(nil)
}

// Standard is the Scheme of Standard Webhooks, version v1, which Svix sends too, under the
// header names svix-…. The message's id is webhook-id. Secrets are "whsec_" and base64.
//
// The signature covers id, time and body. How often a request is repeated is up to the
// sender; the specification proposes 8 times within about 28 hours. Reconcile with the
// sender's API.
func Standard(secrets ...string) Scheme {
	hooks, err := standardHooks(secrets)
	verify := func(r Request) (string, error) {
		h := standardHeaders(r.Header)
		found := false
		for _, hook := range hooks {
			// The time is compared below, with a clock that can be set.
			if hook.VerifyIgnoringTimestamp(r.Body, h) == nil {
				found = true
			}
		}
		if !found {
			return "", unsigned(h, standard.HeaderWebhookID, standard.HeaderWebhookTimestamp, standard.HeaderWebhookSignature)
		}
		if err := recent(h.Get(standard.HeaderWebhookTimestamp), r.Time); err != nil {
			return "", err
		}
		return h.Get(standard.HeaderWebhookID), nil
	}
	sign := func(id string, at time.Time, body []byte) map[string]string {
		signature, _ := hooks[0].Sign(id, at, body) // a hash never fails
		return map[string]string{standard.HeaderWebhookID: id, standard.HeaderWebhookTimestamp: strconv.FormatInt(at.Unix(), 10), standard.HeaderWebhookSignature: signature}
	}
	return Scheme{Verify: verify, SignsID: true, Sign: sign, mistake: err}
}

func standardHooks(secrets []string) ([]*standard.Webhook, error) {
	if err := checkSecrets("Standard", secrets); err != nil {
		return nil, err
	}
	hooks := make([]*standard.Webhook, 0, len(secrets))
	for i, secret := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil || len(key) == 0 {
			return nil, fmt.Errorf("webhook.Standard: secret %d of %d is not whsec_ and base64: copy it whole", i+1, len(secrets))
		}
		hook, err := standard.NewWebhookRaw(key)
		if err != nil {
			return nil, fmt.Errorf("webhook.Standard: secret %d of %d: %w", i+1, len(secrets), err)
		}
		hooks = append(hooks, hook)
	}
	return hooks, nil
}

// standardHeaders returns the three headers that are verified, of Svix too if there is no
// webhook-id.
func standardHeaders(h http.Header) http.Header {
	prefix := "webhook-"
	if h.Get(standard.HeaderWebhookID) == "" {
		prefix = "svix-"
	}
	three := make(http.Header, 3)
	for _, name := range []string{"id", "timestamp", "signature"} {
		three.Set("webhook-"+name, h.Get(prefix+name))
	}
	return three
}
