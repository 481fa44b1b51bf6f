package amqp_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/broker/amqp"
	"github.com/headrace/headrace/consumer"
)

const anywhere = "amqp://guest:canary-secret@127.0.0.1:1/"

// Rule: an option that cannot be is refused by its name, and the URL is not repeated.
func TestOptionsAreRefusedByName(t *testing.T) {
	server := amqp.Server{URL: anywhere}
	for name, o := range map[string]amqp.SourceOptions{
		"Server.URL":            {},
		"Server.Heartbeat":      {Server: amqp.Server{URL: anywhere, Heartbeat: 10}},
		"Server.Timeout":        {Server: amqp.Server{URL: anywhere, Timeout: 10}},
		"Prefetch":              {Server: server, Prefetch: 1 << 16},
		"NackPause":             {Server: server, NackPause: 5},
		"KeptFor":               {Server: server, KeptFor: -time.Hour},
		"ConsumerTimeout":       {Server: server, ConsumerTimeout: -2},
		"Topology.Declare":      {Server: server, Topology: amqp.Topology{Declare: "stream"}},
		"Topology.ExchangeType": {Server: server, Topology: amqp.Topology{Exchange: "e", ExchangeType: "headers"}},
		"DeliveryLimit":         {Server: server, Topology: amqp.Topology{Declare: amqp.Classic, DeliveryLimit: 20}},
		"Topology.ExchangeType: no exchange is made": {Server: server, Topology: amqp.Topology{Exchange: "e", ExchangeType: "topic"}},
		"Topology.DeadLetterExchange":                {Server: server, Topology: amqp.Topology{DeadLetterExchange: "given-up"}},
	} {
		if _, err := amqp.NewSource(o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, o := range map[string]amqp.SinkOptions{
		"Server.URL":       {Server: amqp.Server{URL: "http://user:canary-secret@%zz"}},
		"ConfirmTimeout":   {Server: server, ConfirmTimeout: 15},
		"Channels":         {Server: server, Channels: -1},
		"UnsafeUnroutable": {Server: server, UnsafeUnroutable: true},
	} {
		_, err := amqp.NewSink(o)
		if err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "canary-secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Rule: a broker that is not there is an error in time, with the option and without its
// password.
func TestNobodyAnswers(t *testing.T) {
	source, err := amqp.NewSource(amqp.SourceOptions{Server: amqp.Server{URL: anywhere, Timeout: 300 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	sink, err := amqp.NewSink(amqp.SinkOptions{Server: amqp.Server{URL: anywhere, Timeout: 300 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	defer sink.Close()
	_, subscribed := source.Subscribe(t.Context(), "q")
	for what, err := range map[string]error{
		"Subscribe": subscribed, "Check": source.Check(t.Context(), "q", consumer.Demands{}), "Publish": sink.Publish("q", msg("1", "a")),
	} {
		if err == nil || strings.Contains(err.Error(), "canary-secret") || !strings.Contains(err.Error(), "option Server.URL") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Rule: the broker's limits are compared at start, and asked for where it does not tell.
func TestCheck(t *testing.T) {
	b := setup(t)
	b.declare(amqp.Quorum, nil)
	api, limited := variable(t, "HEADRACE_TEST_RABBITMQ_MANAGEMENT"), b.queue+"-limited"
	_, err := b.admin.QueueDeclare(limited, true, false, false, false, map[string]any{"x-queue-type": "quorum", "x-delivery-limit": int32(5)})
	b.must(err)
	t.Cleanup(func() { _, _ = b.channel().QueueDelete(limited, false, false, false) })
	d := consumer.Demands{HandlerTimeout: 30 * time.Second, AckWait: 2 * time.Minute, Deliveries: 10, InFlight: 512}
	for name, c := range map[string]struct {
		o    amqp.SourceOptions
		want string // "" for none
	}{
		"the limit is not known":        {amqp.SourceOptions{}, "Topology.DeliveryLimit to"},
		"there is none":                 {amqp.SourceOptions{Topology: amqp.Topology{DeliveryLimit: amqp.Unlimited}}, ""},
		"it is high enough":             {amqp.SourceOptions{Topology: amqp.Topology{DeliveryLimit: 10}}, ""},
		"it is too low":                 {amqp.SourceOptions{Topology: amqp.Topology{DeliveryLimit: 9}}, "gives up on a message after 9 deliveries"},
		"consumer_timeout":              {amqp.SourceOptions{Topology: amqp.Topology{DeliveryLimit: 10}, ConsumerTimeout: 2 * time.Minute}, "consumer_timeout"},
		"no consumer_timeout":           {amqp.SourceOptions{Topology: amqp.Topology{DeliveryLimit: 10}, ConsumerTimeout: amqp.Unlimited}, ""},
		"it is of another kind":         {amqp.SourceOptions{Topology: amqp.Topology{Declare: amqp.Classic}}, "exists with other properties"},
		"it is declared as it is":       {amqp.SourceOptions{Topology: amqp.Topology{Declare: amqp.Quorum}}, ""},
		"it is missing":                 {amqp.SourceOptions{Topology: amqp.Topology{Queue: func(string) string { return "no-" + b.queue }}}, "does not exist"},
		"the API tells that it is fine": {amqp.SourceOptions{Management: api}, ""},
		"the API tells a limit":         {amqp.SourceOptions{Management: api, Topology: amqp.Topology{Queue: func(string) string { return limited }}}, "gives up on a message after 5 deliveries"},
		"the API is not there":          {amqp.SourceOptions{Management: "http://u:canary-secret@127.0.0.1:1"}, "SourceOptions.Management"},
		"its name is too long":          {amqp.SourceOptions{Topology: amqp.Topology{Queue: func(string) string { return strings.Repeat("q", 256) }}}, "255"},
	} {
		err := b.source(c.o).Check(b.ctx, b.queue, d)
		if err != nil && strings.Contains(err.Error(), "canary-secret") {
			t.Errorf("%s: the error has the password", name)
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	b.eventually("the queue is as it was", func() bool { // nothing conflicting was made of it
		_, err := b.channel().QueueDeclare(b.queue, true, false, false, false, map[string]any{"x-queue-type": "quorum"})
		return err == nil
	})
}

// Rule: a wrong password is an error at once, not an outage. Guard: sure.
func TestWrongPassword(t *testing.T) {
	b := setup(t)
	server := b.server()
	server.URL = strings.Replace(server.URL, "guest:guest", "guest:canary-secret", 1)
	server.Timeout = waitTimeout
	began := time.Now()
	source := b.source(amqp.SourceOptions{Server: server})
	_, err := source.Subscribe(b.ctx, b.queue)
	for _, err := range []error{err, source.Check(b.ctx, b.queue, consumer.Demands{})} {
		if err == nil || errors.Is(err, b.ctx.Err()) || errors.Is(err, consumer.ErrUnavailable) || time.Since(began) > waitTimeout/2 {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	}
}
