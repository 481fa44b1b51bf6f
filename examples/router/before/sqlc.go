package before

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"
	_ "modernc.org/sqlite"

	"github.com/headrace/headrace/examples/router/db"
	"github.com/headrace/headrace/examples/router/shop"
)

// SQLC makes an invoice of each paid order, until ctx ends.
func SQLC(ctx context.Context, path string, sub message.Subscriber, pub message.Publisher, flaky *shop.Flaky) error {
	database, err := sql.Open("sqlite", path)
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
		queries := db.New(database)
		if err := queries.AddInvoice(m.Context(), db.AddInvoiceParams{OrderID: order.ID, Total: order.Total}); err != nil {
			return nil, err
		}
		if err := flaky.Check(order); err != nil {
			return nil, err
		}
		return shop.Announce(order)
	})
	return router.Run(ctx)
}
