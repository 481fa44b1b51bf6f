package main

import (
	"context"
	"log/slog"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/broker/amqp"
)

var amqpKind = brokerKind{
	name: "amqp", service: "rabbitmq", variable: "HEADRACE_TEST_RABBITMQ",
	connect: func(address string) brokerFixture {
		return amqpFixture{amqp.Server{URL: address, Logger: slog.New(slog.DiscardHandler)}}
	},
}

// amqpFixture has quorum queues: what is measured should be what is relied on.
type amqpFixture struct{ server amqp.Server }

var quorumQueues = amqp.Topology{Declare: amqp.Quorum, DeliveryLimit: amqp.Unlimited}

func (r amqpFixture) create(_ context.Context, topic string) error {
	s, err := amqp.NewSource(amqp.SourceOptions{Server: r.server, Topology: quorumQueues})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }() // it has no subscription
	return s.SubscribeInitialize(topic)
}

func (r amqpFixture) sink() (message.Publisher, error) {
	return amqp.NewSink(amqp.SinkOptions{Server: r.server, Topology: quorumQueues})
}

func (r amqpFixture) source(inFlight int) (message.Subscriber, error) {
	return amqp.NewSource(amqp.SourceOptions{Server: r.server, Topology: quorumQueues, Prefetch: inFlight})
}
