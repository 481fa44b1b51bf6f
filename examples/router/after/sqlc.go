package after

import (
	"context"
	"encoding/json"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/examples/router/db"
	"github.com/headrace/headrace/examples/router/shop"
	"github.com/headrace/headrace/store/sqlite"
)

// SQLC makes an invoice of each paid order, until ctx ends.
func SQLC(ctx context.Context, path string, sub message.Subscriber, pub message.Publisher, flaky *shop.Flaky) error {
	database, err := sqlite.Open(ctx, path, sqlite.Options{Migrate: true})
	if err != nil {
		return err
	}
	defer func() { _ = database.Close() }()
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	if err != nil {
		return err
	}
	router.AddMiddleware(middleware.Recoverer)
	router.AddHandler("invoices", shop.Paid, sub, shop.Created, pub, func(m *message.Message) ([]*message.Message, error) {
		var order shop.Order
		if err := json.Unmarshal(m.Payload, &order); err != nil {
			return nil, err
		}
		tx, _ := headrace.TxFrom(m.Context())
		queries := db.New(tx)
		if err := queries.AddInvoice(m.Context(), db.AddInvoiceParams{OrderID: order.ID, Total: order.Total}); err != nil {
			return nil, err
		}
		if err := flaky.Check(order); err != nil {
			return nil, err
		}
		return shop.Announce(order)
	})
	_, err = consumer.Attach(router, database, consumer.Config{Name: "billing", Sink: pub, Retry: shop.Retry})
	if err != nil {
		return err
	}
	return router.Run(ctx)
}
