package outbox_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/ThreeDotsLabs/watermill/components/cqrs"

	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/sqlite"
)

// OrderPlaced is an event of a program that uses Watermill's cqrs.
type OrderPlaced struct{ ID string }

// Watermill's EventBus writes into the outbox, in the transaction that the context
// carries.
func ExampleNewPublisher() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "outbox")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	st, err := sqlite.Open(ctx, filepath.Join(dir, "orders.db"), sqlite.Options{Migrate: true})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = st.Close() }()

	publisher := outbox.NewPublisher(st.Outbox(), outbox.PublisherOptions{})
	bus, err := cqrs.NewEventBusWithConfig(publisher, cqrs.EventBusConfig{
		GeneratePublishTopic: func(p cqrs.GenerateEventPublishTopicParams) (string, error) { return p.EventName, nil },
		Marshaler:            cqrs.JSONMarshaler{GenerateName: cqrs.StructName},
	})
	if err != nil {
		log.Fatal(err)
	}

	tx, err := st.DB().BeginTx(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	// ... the order itself is written through tx ...
	if err := bus.Publish(outbox.WithTx(ctx, tx), OrderPlaced{ID: "1"}); err != nil {
		log.Fatal(err)
	}
	fmt.Println("without a transaction:", bus.Publish(ctx, OrderPlaced{ID: "2"}) != nil)
	if err := tx.Commit(); err != nil {
		log.Fatal(err)
	}
	status, err := st.Outbox().Status(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("events in the outbox:", status.Ready)
	// Output:
	// without a transaction: true
	// events in the outbox: 1
}
