package consumer_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/outbox/relay"
	"github.com/headrace/headrace/retry"
)

// alertsTo returns a config whose alerts come out of the channel.
func (b *bundle) alertsTo() (consumer.Config, <-chan alerts.Alert) {
	told := make(chan alerts.Alert, 1000)
	config := b.config()
	config.Alert = func(_ context.Context, a alerts.Alert) error { told <- a; return nil }
	return config, told
}

// told waits for an alert of kind, passing over others.
func (b *bundle) told(c <-chan alerts.Alert, kind alerts.Kind) alerts.Alert {
	b.Helper()
	timeout := time.After(30 * time.Second)
	for {
		select {
		case a := <-c:
			if a.Kind == kind {
				return a
			}
		case <-timeout:
			b.Fatalf("no alert of kind %s came", kind)
		}
	}
}

const sinkSecret = "sinkSecret-s3cr3t"

func hopeless(context.Context, *headrace.Tx, *headrace.Message[body]) error {
	return retry.Permanent(errors.New(sinkSecret))
}

// INVARIANT 19: one alert for a group of dead letters, and no more for its next ones; of
// conflicts and undecodable messages too. INVARIANT 20: no words of the error.
//
//evidence:alert
func TestAlertOfDeadLetters(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		config, told := b.alertsTo()
		c := b.consumer(config)
		consumer.Handle(c, topic, hopeless)
		b.start(c)
		b.acked(b.deliver("a", `{"n":1}`))
		a := b.told(told, alerts.GroupFailing)
		letters := b.letters(dlq.Filter{})
		if len(letters) != 1 || a.LetterID != letters[0].LetterID || a.ErrorFingerprint != letters[0].ErrorFingerprint || a.Consumer != "test" || a.Handler != topic ||
			a.Phase != alerts.Firing || a.Class != "permanent" || a.Count != 1 || a.At.IsZero() || a.ID == "" {
			b.Errorf("%d letters, alert %+v", len(letters), a)
		}
		b.acked(b.deliver("b", `{"n":1}`), b.deliver("c", `{"n":1}`), b.deliver("a", `{"n":2}`), b.deliver("d", `not json`))
		classes := map[string]bool{}
		for range 2 {
			classes[b.told(told, alerts.GroupFailing).Class] = true
		}
		if !classes["conflict"] || !classes["undecodable"] {
			b.Errorf("classes %v", classes)
		}
		if err := b.halt(); err != nil {
			b.Error(err)
		}
		if len(told) != 0 {
			b.Errorf("not quiet: %+v", <-told)
		}
		if fmt.Sprint(a) != "" && containsSecret(a) {
			b.Errorf("the alert shows the error: %+v", a)
		}
	})
}

func containsSecret(a alerts.Alert) bool {
	text := fmt.Sprintf("%+v", a)
	for i := 0; i+len(sinkSecret) <= len(text); i++ {
		if text[i:i+len(sinkSecret)] == sinkSecret {
			return true
		}
	}
	return false
}

// INVARIANT 19: a hook that hangs, panics or fails holds up no message.
//
//evidence:hook
func TestAlertHookHoldsUpNothing(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		release, called := make(chan struct{}), make(chan struct{}, 1000)
		config := b.config()
		config.Alert = func(context.Context, alerts.Alert) error {
			called <- struct{}{}
			<-release
			panic("hook")
		}
		c := b.consumer(config)
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			if m.Body.N < 0 {
				return retry.Permanent(errBoom)
			}
			return insert(ctx, tx, m)
		})
		b.start(c)
		b.acked(b.deliver("bad", `{"n":-1}`))
		<-called // and does not return
		var all []*message.Message
		for n := range 200 {
			all = append(all, b.deliver(fmt.Sprint(n), fmt.Sprintf(`{"n":%d}`, n%10-1)))
		}
		b.acked(all...)
		if s := c.Stats(); s.Applied != 180 || s.Dead != 21 || c.Ready() != nil {
			b.Errorf("%+v, ready %v", s, c.Ready())
		}
		close(release)
	})
}

// moody is a sink that refuses a topic, or everything.
type moody struct{ refuse chan string }

func (m *moody) Publish(topic string, _ ...*message.Message) error {
	refused := <-m.refuse
	m.refuse <- refused
	if refused == topic || refused == "all" {
		return errors.New(sinkSecret)
	}
	return nil
}

func (*moody) Close() error { return nil }

// A parked row is told of, without the sink's words.
func TestAlertOfRelay(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		config, told := b.alertsTo()
		sink := &moody{make(chan string, 1)}
		sink.refuse <- "bad"
		quickly := retry.Backoff{Initial: time.Millisecond, Max: time.Millisecond, Factor: 1}
		config.Sink, config.Relay = sink, relay.Options{MaxAttempts: 2, Backoff: quickly, Logger: config.Logger}
		c := b.consumer(config)
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			return tx.Publish(headrace.Event{Topic: "bad", Value: 1, OrderKey: m.ID}, headrace.Event{Topic: "good", Value: 1}, headrace.Event{Topic: "good", Value: 2})
		})
		b.start(c)
		n := 0
		deliver := func() { n++; b.acked(b.deliver(fmt.Sprint(n), `{}`)) }
		parked := make(chan alerts.Alert, 1)
		go func() { parked <- b.told(told, alerts.RowsParked) }()
		var a alerts.Alert
		for a.Kind == "" {
			deliver()
			select {
			case a = <-parked:
			case <-time.After(200 * time.Millisecond):
			}
		}
		if a.Topic == "" || a.Consumer != "" || containsSecret(a) {
			b.Errorf("alert %+v", a)
		}
	})
}

func TestAlertOfStalledRelay(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		config, told := b.alertsTo()
		sink := &moody{make(chan string, 1)}
		sink.refuse <- "all"
		config.Sink, config.Alerts.Quiet = sink, time.Second
		c := b.consumer(config)
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			return tx.Publish(headrace.Event{Topic: "good", Value: 1})
		})
		b.start(c)
		b.acked(b.deliver("a", `{}`))
		a := b.told(told, alerts.RelayStalled)
		if a.Consumer != "test" || a.Phase != alerts.Firing || containsSecret(a) {
			b.Errorf("alert %+v", a)
		}
		<-sink.refuse
		sink.refuse <- ""
		if end := b.told(told, alerts.RelayStalled); end.Phase != alerts.Resolved || end.Key != a.Key {
			b.Errorf("alert %+v", end)
		}
	})
}
