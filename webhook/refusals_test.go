package webhook_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/webhook"
)

// An endpoint is refusing when it has refused every request for 5 minutes, until it accepts one.
func TestRefusing(t *testing.T) {
	now := &clock{now: time.Unix(1800000000, 0)}
	var log bytes.Buffer
	s := newSource(t, webhook.Options{Now: now.Now, Logger: slog.New(slog.NewTextHandler(&lockedWriter{w: &log}, nil))})
	url := serve(t, s.Endpoint("stripe", webhook.Stripe(secret)))
	subscribe(t, s, func(m *message.Message) { m.Ack() })
	refused := func(after time.Duration, refusing bool) {
		t.Helper()
		now.Add(after)
		if got := send(t, url, event("1"), nil); got != 401 {
			t.Fatalf("answer %d", got)
		}
		if err := s.Refusing("stripe"); (err != nil) != refusing {
			t.Errorf("refusing: %v", err)
		}
	}
	accepted := func() {
		t.Helper()
		if got := send(t, url, event("1"), map[string]string{"Stripe-Signature": stripe(secret, event("1"), now.Now())}); got != 200 {
			t.Fatalf("answer %d", got)
		}
		if err := s.Refusing("stripe"); err != nil {
			t.Error(err)
		}
	}
	refused(0, false)
	now.Add(time.Hour) // a single request says nothing
	if err := s.Refusing("stripe"); err != nil {
		t.Error(err)
	}
	accepted()
	refused(0, false)
	refused(4*time.Minute, false)
	accepted()
	refused(time.Minute, false)
	refused(5*time.Minute-time.Second, false)
	refused(time.Second, true)
	refused(time.Hour, true)
	if err := s.Refusing("github"); err != nil {
		t.Errorf("another topic: %v", err)
	}
	accepted()
	refused(time.Second, false)
	text := logged(&log)
	if strings.Count(text, "a webhook was refused") < 3 || !strings.Contains(text, "the signature does not fit") || strings.Contains(text, "charge.paid") ||
		!strings.Contains(text, "accepts requests again") {
		t.Error(text)
	}
}
