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
			all, err := st.Outbox().List(t.Context(), "") // there is no Sink, so that the event is local
			must(t, err)
			if len(all) != 1 || all[0].Ready != 1 {
				t.Errorf("outboxes: %+v", all)
			}
		})
	}
}
