package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/headrace/headrace/broker/amqp"
	"github.com/headrace/headrace/tests/endtoend/story"
)

// connection is the wiring: where the broker is, and the source and the sink on it.
type connection struct {
	server amqp.Server

	mu    sync.Mutex
	empty map[string]time.Time // since when a queue looks empty
}

func connect(address string, log *slog.Logger) story.Connection {
	return &connection{
		server: amqp.Server{URL: address, Name: "examples/rabbitmq", Logger: log}, empty: make(map[string]time.Time),
	}
}

// A topic is a quorum queue, which is made where it is missing, and gives up on nothing.
var topology = amqp.Topology{Declare: amqp.Quorum, DeliveryLimit: amqp.Unlimited}

// Source implements story.Connection. Each topic has one group here, and so one queue.
func (c *connection) Source(string) (message.Subscriber, error) {
	return amqp.NewSource(amqp.SourceOptions{Server: c.server, Topology: topology})
}

// Sink implements story.Connection.
func (c *connection) Sink() (message.Publisher, error) {
	return amqp.NewSink(amqp.SinkOptions{Server: c.server, Topology: topology})
}

// Create implements story.Connection.
func (c *connection) Create(_ context.Context, topics ...string) error {
	s, err := amqp.NewSource(amqp.SourceOptions{Server: c.server, Topology: topology})
	if err != nil {
		return err
	}
	return story.Initialize(s, topics)
}

// Remove implements story.Connection. RabbitMQ takes the removal of a queue that is missing
// for done.
func (c *connection) Remove(_ context.Context, topics ...string) error {
	conn, err := amqp091.Dial(c.server.URL)
	if err != nil {
		return fmt.Errorf("remove queues: %w", err)
	}
	defer func() { _ = conn.Close() }() // each removal was confirmed
	ch, err := conn.Channel()
	if err != nil {
		return fmt.Errorf("remove queues: %w", err)
	}
	for _, t := range topics {
		if _, err := ch.QueueDelete(t, false, false, false); err != nil {
			return fmt.Errorf("remove queue %q: %w", t, err)
		}
	}
	return nil
}
