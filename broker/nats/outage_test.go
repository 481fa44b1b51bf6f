package nats_test

import (
	"strings"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"github.com/headrace/headrace/broker/brokertest"
	"github.com/headrace/headrace/broker/nats"
)

// Requests without an answer do not collect: after an outage the server would serve them
// all, and the subscription would hold a Window for each. After silence the first is served
// beside the newest, and the others bring a message each. Guard: subscription.ask.
func TestOutageCollectsNoRequests(t *testing.T) {
	t.Parallel()
	s := server{brokertest.Variable(t, variable, "nats")}
	const window, all = 20, 200
	for name, c := range map[string]struct {
		cut, mend func(*toxiproxy.Proxy) error
		most      int
	}{
		"refused": {func(p *toxiproxy.Proxy) error { p.Stop(); return nil }, (*toxiproxy.Proxy).Start, window},
		"silent": {func(p *toxiproxy.Proxy) error {
			_, err := p.Toxics.AddToxicJson(strings.NewReader(`{"type":"latency","stream":"upstream","attributes":{"latency":60000}}`))
			return err
		}, func(p *toxiproxy.Proxy) error { p.Toxics.ResetToxics(t.Context()); return nil }, 2*window + 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			topic := s.made(t, func(*jetstream.StreamConfig) {})
			err := s.with(func(js jetstream.JetStream) error {
				_, err := js.CreateConsumer(t.Context(), topic, jetstream.ConsumerConfig{
					Durable: "d_" + topic, FilterSubject: topic, AckPolicy: jetstream.AckExplicitPolicy, AckWait: 5 * time.Minute, MaxDeliver: -1,
					MaxRequestExpires: 10 * time.Millisecond, // so that many requests end soon
				})
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			p := toxiproxy.NewProxy(toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()), topic, "127.0.0.1:0", s.Addr())
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(p.Stop)
			source := newSource(t, nats.SourceOptions{Server: nats.Server{URL: s.at(p.Listen)}, Durable: "d", Window: window})
			messages, err := source.Subscribe(t.Context(), topic)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.cut(p); err != nil {
				t.Fatal(err)
			}
			if err := s.Send(t.Context(), topic, make([]brokertest.Record, all)...); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Second) // the outage
			if err := c.mend(p); err != nil {
				t.Fatal(err)
			}
			one(t, messages, time.Minute)
			time.Sleep(2 * time.Second) // for what must not happen
			if held := s.pending(t, topic); held > c.most {
				t.Errorf("%d messages are held, with a Window of %d", held, window)
			}
		})
	}
}
