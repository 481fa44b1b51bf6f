package adopt_test

import (
	"context"
	"testing"

	"github.com/ThreeDotsLabs/watermill/components/cqrs"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
)

// Paid is an event of the bus.
type Paid struct{ OrderID string }

// Watermill's event bus in a handler: what it publishes is in the message's commit.
func busHandler(bus *cqrs.EventBus) consumer.Func[Order] {
	return func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[Order]) error {
		return bus.Publish(headrace.WithTx(ctx, tx), Paid{OrderID: m.Body.ID})
	}
}

func TestEventBus(t *testing.T) {
	for name, st := range map[string]store.Store{"sqlite": openSQLite(t), "postgres": openPgx(t)} {
		t.Run(name, func(t *testing.T) {
			bus, err := cqrs.NewEventBusWithConfig(outbox.NewPublisher(st.Outbox(), outbox.PublisherOptions{}), cqrs.EventBusConfig{
				GeneratePublishTopic: func(p cqrs.GenerateEventPublishTopicParams) (string, error) { return p.EventName, nil },
				Marshaler:            cqrs.JSONMarshaler{},
			})
			must(t, err)
			deliverTwice(t, st, func(c *consumer.Consumer) { consumer.Handle(c, "orders.paid", busHandler(bus)) })
			status, err := st.Outbox().Status(t.Context())
			must(t, err)
			if status.Ready != 1 {
				t.Errorf("outbox: %+v", status)
			}
		})
	}
}
