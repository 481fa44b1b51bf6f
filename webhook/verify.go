package webhook

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// Request is what a Verifier looks at.
type Request struct {
	// Header has the request's headers, and Body its body, which must not be changed.
	Header http.Header
	Body   []byte
	// Now is the time with which a signed time is compared.
	Now time.Time
}

// Verifier proves that requests come from a sender. The presets make one; a sender of your
// own takes a function.
type Verifier struct {
	// Verify returns the id that the sender gives an event in all requests that tell it, and
	// "" if it has none: then the message has no default key. An error, as ErrSignature, is
	// answered 401; its text goes to the log, so it contains no part of the request. It is
	// called concurrently. Compare signatures with hmac.Equal.
	Verify func(r Request) (id string, err error)
	// Headers are the names of headers that become metadata.
	Headers []string
	// BodyOnly says that the signature covers neither the id nor the time. The consumer then
	// refuses a handler without a key of its own.
	BodyOnly bool

	err error
}

// mistake returns what is wrong with v.
func (v Verifier) mistake() error {
	if v.err == nil && v.Verify == nil {
		return errors.New("Verifier.Verify is missing: take Stripe, GitHub, Shopify or Standard, or give a function")
	}
	return v.err
}

var (
	// ErrSignature matches the error of a request whose signature is missing or wrong.
	ErrSignature = errors.New("the signature does not fit")
	// ErrTime matches the error of a request whose signed time is more than five minutes
	// from now.
	ErrTime = errors.New("the signed time is too far from now")
)

// tolerance is how far a signed time may be from now.
const tolerance = 5 * time.Minute

// check returns an error if there is no secret, or one is empty.
func check(preset string, secrets []string) error {
	if len(secrets) == 0 {
		return fmt.Errorf("webhook.%s has no secret", preset)
	}
	for i, s := range secrets {
		if s == "" {
			return fmt.Errorf("secret %d of webhook.%s is empty: whoever knows that could sign", i+1, preset)
		}
	}
	return nil
}

// Stripe verifies the header Stripe-Signature with any of the endpoint's secrets
// ("whsec_…"); two serve while one is replaced. The id is that of the event.
//
// https://docs.stripe.com/webhooks#verify-manually
func Stripe(secrets ...string) Verifier {
	verify := func(r Request) (string, error) {
		var at string
		var sums [][]byte
		for part := range strings.SplitSeq(r.Header.Get("Stripe-Signature"), ",") {
			switch name, value, _ := strings.Cut(strings.TrimSpace(part), "="); name {
			case "t":
				at = value
			case "v1":
				if sum, err := hex.DecodeString(value); err == nil {
					sums = append(sums, sum)
				}
			}
		}
		if !signed(secrets, bytes.Join([][]byte{[]byte(at), r.Body}, []byte(".")), sums...) {
			return "", ErrSignature
		}
		if err := recent(at, r.Now); err != nil {
			return "", err
		}
		var event struct {
			ID string `json:"id"`
		}
		_ = json.Unmarshal(r.Body, &event) // a body that is signed, and no event, has no id
		return event.ID, nil
	}
	return Verifier{Verify: verify, err: check("Stripe", secrets)}
}

// GitHub verifies the header X-Hub-Signature-256 with any of the secrets. The id is
// X-GitHub-Delivery, which a redelivery keeps.
//
// https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
func GitHub(secrets ...string) Verifier {
	return Verifier{
		Verify: body(secrets, "X-Hub-Signature-256", "sha256=", hex.DecodeString, "X-GitHub-Delivery"), BodyOnly: true,
		Headers: []string{"X-GitHub-Delivery", "X-GitHub-Event", "X-GitHub-Hook-ID"}, err: check("GitHub", secrets),
	}
}

// Shopify verifies the header X-Shopify-Hmac-Sha256 with any of the app's client secrets.
// The id is X-Shopify-Webhook-Id.
//
// https://shopify.dev/docs/apps/build/webhooks/subscribe/https
func Shopify(secrets ...string) Verifier {
	return Verifier{
		Verify: body(secrets, "X-Shopify-Hmac-Sha256", "", base64.StdEncoding.DecodeString, "X-Shopify-Webhook-Id"), BodyOnly: true,
		Headers: []string{"X-Shopify-Topic", "X-Shopify-Shop-Domain", "X-Shopify-Webhook-Id", "X-Shopify-Event-Id", "X-Shopify-Triggered-At", "X-Shopify-API-Version"},
		err:     check("Shopify", secrets),
	}
}

// body verifies a signature of the body alone, which stands in a header after a prefix.
func body(secrets []string, header, prefix string, decode func(string) ([]byte, error), id string) func(Request) (string, error) {
	return func(r Request) (string, error) {
		text, ok := strings.CutPrefix(r.Header.Get(header), prefix)
		sum, err := decode(text)
		if !ok || err != nil || !signed(secrets, r.Body, sum) {
			return "", ErrSignature
		}
		return r.Header.Get(id), nil
	}
}

// Standard verifies Standard Webhooks, and those of Svix, with any of the secrets
// ("whsec_" and base64). The id is webhook-id.
//
// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
func Standard(secrets ...string) Verifier {
	v := Verifier{Headers: []string{"Webhook-Id", "Webhook-Timestamp", "Svix-Id", "Svix-Timestamp"}, err: check("Standard", secrets)}
	var keys []*standard.Webhook
	for i, s := range secrets {
		key, err := standard.NewWebhook(s)
		if err != nil {
			v.err = cmp.Or(v.err, fmt.Errorf("secret %d of webhook.Standard is no base64 after whsec_", i+1))
			continue
		}
		keys = append(keys, key)
	}
	v.Verify = func(r Request) (string, error) {
		h := make(http.Header)
		for _, name := range []string{"id", "timestamp", "signature"} {
			h.Set("webhook-"+name, cmp.Or(r.Header.Get("webhook-"+name), r.Header.Get("svix-"+name)))
		}
		for _, key := range keys {
			if key.VerifyIgnoringTimestamp(r.Body, h) == nil {
				return h.Get(standard.HeaderWebhookID), recent(h.Get(standard.HeaderWebhookTimestamp), r.Now)
			}
		}
		return "", ErrSignature
	}
	return v
}

// recent returns an error unless at, in seconds since 1970, is near now.
func recent(at string, now time.Time) error {
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > tolerance {
		return ErrTime
	}
	return nil
}

// signed reports whether one of sums is the HMAC-SHA-256 of text under one of the secrets.
func signed(secrets []string, text []byte, sums ...[]byte) bool {
	for _, s := range secrets {
		mac := hmac.New(sha256.New, []byte(s))
		mac.Write(text)
		want := mac.Sum(nil)
		for _, sum := range sums {
			if hmac.Equal(want, sum) {
				return true
			}
		}
	}
	return false
}
