package webhook_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/webhook"
)

// The alert comes when every request was refused for 5 minutes, once until one is accepted,
// and again after a hook that failed.
func TestRefusedAlert(t *testing.T) {
	now := &clock{now: time.Unix(1800000000, 0)}
	sent, answer := make(chan alerts.Alert), make(chan error)
	var log bytes.Buffer
	s := newSource(t, webhook.Options{
		Now: now.Now, Logger: slog.New(slog.NewTextHandler(&lockedWriter{w: &log}, nil)),
		Alert: func(_ context.Context, a alerts.Alert) error { sent <- a; return <-answer },
	})
	url := serve(t, s.Endpoint("stripe", webhook.Stripe(secret)))
	subscribe(t, s, func(m *message.Message) { m.Ack() })
	refused := func(after time.Duration) {
		t.Helper()
		now.Add(after)
		if got := send(t, url, event("1"), nil); got != 401 {
			t.Fatalf("answer %d", got)
		}
	}
	accepted := func() {
		t.Helper()
		if got := send(t, url, event("1"), map[string]string{"Stripe-Signature": stripe(secret, event("1"), now.Now())}); got != 200 {
			t.Fatalf("answer %d", got)
		}
	}
	none := func(what string) {
		t.Helper()
		select {
		case a := <-sent:
			t.Errorf("%s: an alert: %+v", what, a)
		default:
		}
	}
	refused(0)
	refused(4 * time.Minute)
	accepted()
	refused(time.Minute)
	begin := now.Now()
	refused(5*time.Minute - time.Second)
	none("one was accepted in between")
	refused(time.Second)
	a := <-sent
	if a.Kind != alerts.WebhookRefused || a.Topic != "stripe" || a.Count != 3 || !a.Since.Equal(begin) || !a.At.Equal(now.Now()) || a.ID == "" {
		t.Errorf("alert %+v", a)
	}
	answer <- errors.New("the hook is away")
	waitFor(t, func() bool { return strings.Contains(logged(&log), "an alert was not sent") })
	refused(time.Second)
	none("too soon")
	refused(time.Minute)
	<-sent
	answer <- nil
	refused(time.Hour)
	none("sent already")
	accepted()
	refused(time.Second)
	none("after an accepted request")
	text := logged(&log)
	if strings.Count(text, "a webhook was refused") < 3 || !strings.Contains(text, "the signature does not fit") || strings.Contains(text, "charge.paid") {
		t.Error(text)
	}
}
