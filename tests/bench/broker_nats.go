package main

import (
	"context"
	"log/slog"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/headrace/headrace/broker/nats"
)

var natsKind = brokerKind{
	name: "nats", service: "nats", variable: "HEADRACE_TEST_NATS",
	connect: func(address string) brokerFixture {
		return natsFixture{nats.Server{URL: address, Logger: slog.New(slog.DiscardHandler)}}
	},
}

type natsFixture struct{ server nats.Server }

// natsStream is on disk, as it should be where it counts.
func natsStream(topic string) jetstream.StreamConfig {
	return jetstream.StreamConfig{Name: topic, Storage: jetstream.FileStorage}
}

func (r natsFixture) create(_ context.Context, topic string) error {
	s, err := nats.NewSource(nats.SourceOptions{Server: r.server, Durable: "bench", Provision: natsStream})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }() // it has no subscription
	return s.SubscribeInitialize(topic)
}

func (r natsFixture) sink() (message.Publisher, error) {
	return nats.NewSink(nats.SinkOptions{Server: r.server})
}

func (r natsFixture) source(inFlight int) (message.Subscriber, error) {
	return nats.NewSource(nats.SourceOptions{Server: r.server, Durable: "bench", Window: inFlight})
}
