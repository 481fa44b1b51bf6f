package story

import (
	"context"
	"log/slog"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/tests/endtoend/services"
)

// Broker is one kind of broker that the story is told over.
type Broker struct {
	services.Server
	// Connect is given the address, in the form of Compose and Variable. It connects to
	// nothing yet.
	Connect func(address string, log *slog.Logger) Connection
}

// Connection is a broker that runs. It is made anew in each process. All methods are safe
// for concurrent use, and what they return is closed by the caller.
type Connection interface {
	// Create makes topics, and all that Send and the sources need; those that exist stay.
	Create(ctx context.Context, topics ...string) error
	// Remove removes topics with all that Create made of them; those that are missing are
	// no error.
	Remove(ctx context.Context, topics ...string) error
	// Gateway returns what sends webhooks: a plain client of the broker, not headrace.
	Gateway() (Gateway, error)
	// Source returns the source that workers share the webhooks by, or with the clerk's
	// group the source of confirmations: two groups each get everything.
	Source(group string) (message.Subscriber, error)
	// Sink returns the sink that the relay publishes by.
	Sink() (message.Publisher, error)
	// Left is how many messages of topic the group has not acknowledged, those that it
	// holds included. It may be late by a moment, but not more than that.
	Left(ctx context.Context, topic, group string) (int, error)
}

// Initialize makes topics by a source that has no subscription, and closes it.
func Initialize(source interface {
	message.Subscriber
	message.SubscribeInitializer
}, topics []string,
) error {
	defer func() { _ = source.Close() }()
	for _, t := range topics {
		if err := source.SubscribeInitialize(t); err != nil {
			return err
		}
	}
	return nil
}

// Gateway sends what came from the shop to the broker.
type Gateway interface {
	// Send returns when the broker has all of them. After an error they are sent again.
	Send(ctx context.Context, topic string, list []Sent) error
	// Close ends it.
	Close() error
}

// Sent is a webhook as the gateway gives it to the broker.
type Sent struct {
	// Key names the webhooks that belong in order; "" for none.
	Key string
	// Headers are those of the webhook, its id among them. Values are not empty.
	Headers map[string]string
	// Payload is the body as it came.
	Payload []byte
}

// The groups.
const (
	workersGroup = "billing"
	clerkGroup   = "clerk"
)
