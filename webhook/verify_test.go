package webhook_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/headrace/headrace/webhook"
)

// stripeHeader signs as Stripe says. tests/interop compares with its own library.
func stripeHeader(secret string, at time.Time, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = fmt.Fprintf(mac, "%d.%s", at.Unix(), body)
	return fmt.Sprintf("t=%d,v1=%s", at.Unix(), hex.EncodeToString(mac.Sum(nil)))
}

func headers(pairs ...string) http.Header {
	h := make(http.Header)
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

const (
	standardSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	standardBody   = `{"test": 2432232314}`
	standardID     = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	standardSum    = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	githubSecret   = "It's a Secret to Everybody"
	githubBody     = "Hello, World!"
	githubSum      = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
	shopifySecret  = "test-webhook-secret"
	shopifyBody    = `{"id":1234567890,"email":"customer@example.com","total_price":"123.45"}`
	shopifySum     = "QNyObTlKbMx2qDlPF/ZOZcBqg5OgPg+2oky3zldc0Gw="
	stripeSecret   = "whsec_test_secret"
	stripeBody     = `{"id":"evt_1","type":"charge.succeeded"}`
)

var standardAt = time.Unix(1614265330, 0)

// The presets let pass what their senders sign. Sources of the vectors: GitHub's
// documentation of validated deliveries; the reference implementation of Standard
// Webhooks; for Shopify, which publishes none, the tests of SQLPage.
//
//evidence:webhook-signed
func TestVerifiers(t *testing.T) {
	at := standardAt
	github := webhook.GitHub("old", githubSecret)
	shopify := webhook.Shopify(shopifySecret)
	standard := webhook.Standard("whsec_b2xk", standardSecret)
	stripe := webhook.Stripe("old", stripeSecret)
	for _, c := range []struct {
		name   string
		v      webhook.Verifier
		header http.Header
		body   string
		now    time.Time
		id     string
		err    error
	}{
		{"GitHub", github, headers("X-Hub-Signature-256", githubSum, "X-GitHub-Delivery", "d1"), githubBody, at, "d1", nil},
		{"GitHub, another body", github, headers("X-Hub-Signature-256", githubSum), githubBody + " ", at, "", webhook.ErrSignature},
		{"GitHub, no prefix", github, headers("X-Hub-Signature-256", githubSum[7:]), githubBody, at, "", webhook.ErrSignature},
		{"GitHub, no signature", github, headers(), githubBody, at, "", webhook.ErrSignature},
		{"GitHub, an empty signature", github, headers("X-Hub-Signature-256", "sha256="), githubBody, at, "", webhook.ErrSignature},
		{"Shopify", shopify, headers("X-Shopify-Hmac-SHA256", shopifySum, "X-Shopify-Webhook-Id", "w1"), shopifyBody, at, "w1", nil},
		{"Shopify, another secret", webhook.Shopify("x"), headers("X-Shopify-Hmac-SHA256", shopifySum), shopifyBody, at, "", webhook.ErrSignature},
		{"Shopify, hex", shopify, headers("X-Shopify-Hmac-SHA256", "40dc8e6d394a6ccc76a8394f17f64e65c06a8393a03e0fb6a24cb7ce575cd06c"), shopifyBody, at, "", webhook.ErrSignature},
		{"Standard", standard, headers("webhook-id", standardID, "webhook-timestamp", "1614265330", "webhook-signature", "v1,AAAA "+standardSum), standardBody, at, standardID, nil},
		{"Svix", standard, headers("svix-id", standardID, "svix-timestamp", "1614265330", "svix-signature", standardSum), standardBody, at, standardID, nil},
		{"Standard, another id", standard, headers("webhook-id", "msg_2", "webhook-timestamp", "1614265330", "webhook-signature", standardSum), standardBody, at, "", webhook.ErrSignature},
		{"Standard, another time", standard, headers("webhook-id", standardID, "webhook-timestamp", "1614265331", "webhook-signature", standardSum), standardBody, at, "", webhook.ErrSignature},
		{"Standard, old", standard, headers("webhook-id", standardID, "webhook-timestamp", "1614265330", "webhook-signature", standardSum), standardBody, at.Add(301 * time.Second), "", webhook.ErrTime},
		{"Standard, early", standard, headers("webhook-id", standardID, "webhook-timestamp", "1614265330", "webhook-signature", standardSum), standardBody, at.Add(-301 * time.Second), "", webhook.ErrTime},
		{"Stripe", stripe, headers("Stripe-Signature", stripeHeader(stripeSecret, at, stripeBody)), stripeBody, at, "evt_1", nil},
		{"Stripe, several", stripe, headers("Stripe-Signature", stripeHeader(stripeSecret, at, stripeBody)+",v1=00,v0=11"), stripeBody, at, "evt_1", nil},
		{"Stripe, old", stripe, headers("Stripe-Signature", stripeHeader(stripeSecret, at, stripeBody)), stripeBody, at.Add(301 * time.Second), "", webhook.ErrTime},
		{"Stripe, v0", stripe, headers("Stripe-Signature", "t=1614265330,v0="+stripeHeader(stripeSecret, at, stripeBody)[16:]), stripeBody, at, "", webhook.ErrSignature},
		{"Stripe, no time", stripe, headers("Stripe-Signature", stripeHeader(stripeSecret, at, stripeBody)[13:]), stripeBody, at, "", webhook.ErrSignature},
		{"Stripe, no event", stripe, headers("Stripe-Signature", stripeHeader(stripeSecret, at, "x")), "x", at, "", nil},
	} {
		id, err := c.v.Verify(webhook.Request{Header: c.header, Body: []byte(c.body), Now: c.now})
		if !errors.Is(err, c.err) || (err == nil && id != c.id) {
			t.Errorf("%s: id %q, %v; want %q, %v", c.name, id, err, c.id, c.err)
		}
	}
}
