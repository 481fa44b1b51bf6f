package main

import (
	"context"
	"errors"
	"fmt"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/headrace/headrace/tests/endtoend/story"
)

// idHeader has the webhook's id.
const idHeader = "X-Webhook-Id"

// gateway is a plain client of RabbitMQ: no Watermill, no headrace.
type gateway struct {
	url  string
	conn *amqp091.Connection
}

// Gateway implements story.Connection.
func (c *connection) Gateway() (story.Gateway, error) { return &gateway{url: c.server.URL}, nil }

// Send implements story.Gateway.
func (g *gateway) Send(ctx context.Context, topic string, list []story.Sent) error {
	if g.conn == nil || g.conn.IsClosed() {
		conn, err := amqp091.Dial(g.url)
		if err != nil {
			return fmt.Errorf("connect the gateway: %w", err)
		}
		g.conn = conn
	}
	ch, err := g.conn.Channel()
	if err != nil {
		return err
	}
	defer func() { _ = ch.Close() }() // everything on it is confirmed, or sent again
	if err := ch.Confirm(false); err != nil {
		return err
	}
	waits := make([]*amqp091.DeferredConfirmation, len(list))
	for i, s := range list {
		headers := make(amqp091.Table, len(s.Headers))
		for name, value := range s.Headers {
			headers[name] = value
		}
		p := amqp091.Publishing{Headers: headers, Body: s.Payload, DeliveryMode: amqp091.Persistent}
		// Without a message-id RabbitMQ has nothing that tells two deliveries of a message from
		// two messages. A property has 255 bytes at most.
		if id := s.Headers[idHeader]; len(id) <= 255 {
			p.MessageId = id
		}
		if waits[i], err = ch.PublishWithDeferredConfirm("", topic, false, false, p); err != nil {
			return err
		}
	}
	for _, wait := range waits {
		if ok, err := wait.WaitContext(ctx); err != nil || !ok {
			return errors.Join(errors.New("the broker has not confirmed a webhook"), err)
		}
	}
	return nil
}

// Close implements story.Gateway.
func (g *gateway) Close() error {
	if g.conn == nil || g.conn.IsClosed() {
		return nil
	}
	return g.conn.Close()
}
