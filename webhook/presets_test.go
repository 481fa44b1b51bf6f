package webhook_test

import (
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/webhook"
)

// vector is a request with a signature that others have published.
type vector struct {
	name    string
	preset  func(secrets ...string) webhook.Scheme
	secret  string
	body    string
	headers map[string]string
	sent    time.Time // zero if the time is not signed
	id      string
}

func vectors(t *testing.T) []vector {
	t.Helper()
	event, err := os.ReadFile("testdata/stripe_event.json")
	if err != nil {
		t.Fatal(err)
	}
	standard := map[string]string{"id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "timestamp": "1614265330", "signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="}
	named := func(prefix string) map[string]string {
		h := map[string]string{}
		for name, value := range standard {
			h[prefix+name] = value
		}
		return h
	}
	const standardSecret, standardBody = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", `{"test": 2432232314}`
	return []vector{
		{ // stripe/stripe-dotnet, EventUtilityTest and event_test_signature.json
			name: "Stripe", preset: webhook.Stripe, secret: "webhook_secret", body: string(event), sent: time.Unix(1533204620, 0), id: "evt_123",
			headers: map[string]string{"Stripe-Signature": "t=1533204620,v1=2220f87ef101a04665f11cdf770523143f875572008577fa0f20882ddb9cc3c7," +
				"v0=63f3a72374a733066c4be69ed7f8e5ac85c22c9f0a6a612ab9a025a9e4ee7eef"},
		},
		{ // docs.github.com, "Validating webhook deliveries", "Testing the webhook payload validation"
			name: "GitHub", preset: webhook.GitHub, secret: "It's a Secret to Everybody", body: "Hello, World!", id: "72d3162e",
			headers: map[string]string{
				"X-Hub-Signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
				"X-GitHub-Delivery":   "72d3162e",
			},
		},
		{ // Shopify/shopify-app-js, packages/apps/shopify-api/lib/webhooks/__tests__/validate.test.ts; the secret is in lib/__tests__/test-config.ts
			name: "Shopify", preset: webhook.Shopify, secret: "test_secret_key", body: `{"foo": "bar"}`, id: "123456789",
			headers: map[string]string{
				"X-Shopify-Hmac-Sha256": "B23tXN681gZ0qIWNRrgtzBE9XSDo5yaUu6wfmhu3a7g=",
				"X-Shopify-Webhook-Id":  "123456789",
			},
		},
		// Shopify/shopify_app, test/shopify_app/controller_concerns/webhook_verification_test.rb: a secret, and the one before it.
		{name: "Shopify, new secret", preset: webhook.Shopify, secret: "secret", body: "foo=anything", headers: map[string]string{"X-Shopify-Hmac-Sha256": "yCGX/RrK4fcuNtr3ztk5tQGsOBjcAzHpGLdMUrbV8yI="}},
		{name: "Shopify, old secret", preset: webhook.Shopify, secret: "old_secret", body: "foo=anything", headers: map[string]string{"X-Shopify-Hmac-Sha256": "XqRcjrSv57VACn6apEO9znyu/wkN1VC7QxdSPwK3Hzs="}},
		// The reference of Standard Webhooks and of Svix.
		{name: "Standard", preset: webhook.Standard, secret: standardSecret, body: standardBody, headers: named("webhook-"), sent: time.Unix(1614265330, 0), id: standard["id"]},
		{name: "Svix", preset: webhook.Standard, secret: standardSecret, body: standardBody, headers: named("svix-"), sent: time.Unix(1614265330, 0), id: standard["id"]},
	}
}

func (v vector) request() webhook.Request {
	h := http.Header{}
	for name, value := range v.headers {
		h.Set(name, value)
	}
	return webhook.Request{Header: h, Body: []byte(v.body), Time: v.sent}
}

// Each preset accepts what its sender has signed, under the first and the second of two
// secrets, and nothing that was changed.
//
//evidence:webhook-signed
func TestVectors(t *testing.T) {
	const other = "whsec_b3RoZXIgc2VjcmV0IG9mIG91cnM=" // fits all presets
	for _, v := range vectors(t) {
		t.Run(v.name, func(t *testing.T) {
			for _, secrets := range [][]string{{v.secret}, {v.secret, other}, {other, v.secret}} {
				if id, err := v.preset(secrets...).Verify(v.request()); err != nil || id != v.id {
					t.Errorf("secrets %d: id %q, error %v", len(secrets), id, err)
				}
			}
			for name, value := range v.preset(v.secret, other).Sign(v.id, v.sent, []byte(v.body)) {
				want := v.headers[name]
				if v.name == "Svix" { // sends the same under names of its own
					want = v.headers[strings.Replace(name, "webhook-", "svix-", 1)]
				}
				if before, _, _ := strings.Cut(want, ",v0="); value != before {
					t.Errorf("signs %s: %s, want %s", name, value, want)
				}
			}
			refused := func(what string, r webhook.Request, want error) {
				t.Helper()
				if id, err := v.preset(v.secret).Verify(r); !errors.Is(err, want) || id != "" {
					t.Errorf("%s: id %q, error %v", what, id, err)
				}
			}
			if _, err := v.preset(other).Verify(v.request()); !errors.Is(err, webhook.ErrSignature) {
				t.Errorf("another secret: %v", err)
			}
			r := v.request()
			r.Body = append(r.Body, ' ')
			refused("another body", r, webhook.ErrSignature)
			r = v.request()
			r.Header = http.Header{}
			refused("no headers", r, webhook.ErrSignature)
			for name, value := range v.headers {
				if !strings.Contains(strings.ToLower(name), "signature") && !strings.Contains(name, "Hmac") {
					continue
				}
				for _, wrong := range []string{"", "=", ",", "t,v1=,v0=", "sha256=", "v1,", "sha256=zz", change(value), value + "0"} {
					r = v.request()
					r.Header.Set(name, wrong)
					if name == "Stripe-Signature" && wrong == value+"0" {
						continue // that changes v0, which is not used
					}
					refused("signature "+wrong, r, webhook.ErrSignature)
				}
			}
		})
	}
}

// A signed time is at most 5 minutes away, in both directions. A signature of the body alone
// holds for ever.
//
//evidence:webhook-signed
func TestSignedTime(t *testing.T) {
	for _, v := range vectors(t) {
		for away, ok := range map[time.Duration]bool{
			-5 * time.Minute: true, 5 * time.Minute: true, -5*time.Minute - time.Second: false, 5*time.Minute + time.Second: false,
			10 * 365 * 24 * time.Hour: false,
		} {
			r := v.request()
			r.Time = v.sent.Add(away)
			_, err := v.preset(v.secret).Verify(r)
			if want := ok || v.sent.IsZero(); want != (err == nil) || err != nil && !errors.Is(err, webhook.ErrTime) {
				t.Errorf("%s, %s later: %v", v.name, away, err)
			}
		}
	}
}

// Where the id is signed, a request does not pass under another one; where it is not, the
// preset says so.
//
//evidence:webhook-signed
func TestSignedID(t *testing.T) {
	for _, v := range vectors(t) {
		if v.id == "" {
			continue
		}
		r := v.request()
		for _, name := range []string{"webhook-id", "svix-id", "X-GitHub-Delivery", "X-Shopify-Webhook-Id"} {
			if r.Header.Get(name) != "" {
				r.Header.Set(name, "another")
			}
		}
		id, err := v.preset(v.secret).Verify(r)
		if signs := v.preset(v.secret).SignsID; signs != (err != nil || id == v.id) {
			t.Errorf("%s: SignsID is %t, and another id gives %q, %v", v.name, signs, id, err)
		}
	}
}

// A signed body that is no event has no id.
func TestStripeWithoutEvent(t *testing.T) {
	for _, body := range []string{"", "[]", "{}", `{"id":7}`, "<xml>"} {
		r := webhook.Request{Header: http.Header{}, Body: []byte(body), Time: time.Unix(1533204620, 0)}
		r.Header.Set("Stripe-Signature", stripe("secret", body, r.Time))
		if id, err := webhook.Stripe("secret").Verify(r); id != "" || err != nil {
			t.Errorf("body %q: id %q, error %v", body, id, err)
		}
	}
}

// change changes the character in the middle.
func change(s string) string {
	other := "a"
	if s[len(s)/2:len(s)/2+1] == other {
		other = "b"
	}
	return s[:len(s)/2] + other + s[len(s)/2+1:]
}

// What is refused says which header is missing, or that the signed time is too old, and no value.
func TestRefusalsSayWhy(t *testing.T) {
	for _, v := range vectors(t) {
		says := func(what string, r webhook.Request, want string) {
			t.Helper()
			if _, err := v.preset(v.secret).Verify(r); err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%s: %s: error %v, want %s", v.name, what, err, want)
			}
		}
		r := v.request()
		r.Body = append(r.Body, ' ')
		says("another body", r, "none of the secrets, or for another body")
		for name := range v.headers {
			if strings.Contains(strings.ToLower(name), "signature") || strings.Contains(name, "Hmac") {
				r := v.request()
				r.Header.Del(name)
				says("no signature", r, "has no header "+strings.Replace(name, "svix-", "webhook-", 1))
			}
		}
		if !v.sent.IsZero() {
			r.Body = []byte(v.body)
			r.Time = v.sent.Add(time.Hour)
			says("late", r, "too old, as in a request that is sent again under its old signature")
			r.Time = v.sent.Add(-time.Hour)
			says("early", r, "is this machine's clock right?")
		}
	}
}
