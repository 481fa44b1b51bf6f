package main

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/broker/kafka"
)

var kafkaKind = brokerKind{
	name: "kafka", service: "kafka", variable: "HEADRACE_TEST_KAFKA",
	more:    func(fixture brokerFixture) []benchmark { return workerBenchmarks(fixture.(kafkaFixture)) },
	connect: func(address string) brokerFixture { return kafkaFixture{brokers: []string{address}} },
}

type kafkaFixture struct {
	brokers    []string
	partitions int32 // 0 means one, so that the window is all that is in flight
}

func (k kafkaFixture) options(window int) kafka.SourceOptions {
	return kafka.SourceOptions{
		Brokers: k.brokers, Group: "bench-" + rand.Text(), Window: window, NewTopic: kafka.NewTopic{Partitions: max(k.partitions, 1)},
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
}

func (k kafkaFixture) create(_ context.Context, topic string) error {
	s, err := kafka.NewSource(k.options(1))
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }() // it has no subscription
	return s.SubscribeInitialize(topic)
}

func (k kafkaFixture) sink() (message.Publisher, error) {
	return kafka.NewSink(kafka.SinkOptions{Brokers: k.brokers})
}

func (k kafkaFixture) source(inFlight int) (message.Subscriber, error) {
	return kafka.NewSource(k.options(inFlight))
}
