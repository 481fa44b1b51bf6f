package billing

import (
	"context"
	"fmt"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/tests/endtoend/shopify"
)

// Handler handles one paid order.
type Handler = consumer.Func[shopify.Order]

// New returns the consumer: which webhooks are one message, how it fails, and its handler.
// config says where messages come from and where events go; orders is the topic of orders.
func New(st store.Store, config consumer.Config, orders string, handle Handler) (*consumer.Consumer, error) {
	config.Key, config.SameWhen = Key(), SameWhen()
	config.OrderKey = func(d *headrace.Delivery) string { return d.Metadata[OrderKeyHeader] }
	config.Retry = retry.Policy{ // short, so that the example is: a real one goes on for hours
		MaxAttempts: 8, Immediate: 1,
		Backoff: retry.Backoff{Initial: 50 * time.Millisecond, Max: time.Second, Factor: 2, Jitter: 0.2},
	}
	c, err := consumer.New("billing", st, config)
	if err != nil {
		return nil, err
	}
	consumer.Handle(c, orders, handle)
	return c, nil
}

// Headers of a webhook on its way here.
const (
	// OrderKeyHeader names the webhooks that must stay in order.
	OrderKeyHeader = "X-Order-Key"
	// IDHeader is the webhook's id, over brokers that have no place for one.
	IDHeader = "X-Webhook-Id"
)

// Key is shop:order:id:paid, because a shop sends the same fact again under another webhook
// id. The last part is the status as the body has it, so that an order that comes unpaid
// first does not take the key of the paid one. Where a part is missing, the webhook's own
// id is the key. A broken line of an input file has none.
func Key() inbox.KeyFunc {
	fact := inbox.First(
		inbox.Join(inbox.Header(shopify.ShopHeader), inbox.Literal("order"), inbox.JSON("id"), inbox.JSON("financial_status")),
		inbox.MessageID(),
	)
	return func(d *headrace.Delivery) (string, error) {
		if reason := d.Metadata[shopify.LineHeader]; reason != "" {
			return "", fmt.Errorf("%w: %s", inbox.ErrMalformed, reason)
		}
		return fact(Webhook(d))
	}
}

// Webhook returns d under the id of its webhook.
func Webhook(d *headrace.Delivery) *headrace.Delivery {
	id := d.Metadata[IDHeader]
	if id == "" {
		return d
	}
	whole := *d
	whole.ID = id
	return &whole
}

// SameWhen compares what an invoice depends on; updated_at is no part of it. Other content
// under a known key is a conflict, a dead letter.
func SameWhen() inbox.FingerprintFunc {
	return inbox.Fields("id", "name", "email", "currency", "total_price", "financial_status", "line_items")
}

// Confirmation is the event that tells a customer of an invoice.
type Confirmation struct {
	Shop      string `json:"shop"`
	OrderName string `json:"order_name"`
	Email     string `json:"email"`
	Total     int64  `json:"total_minor"`
	Currency  string `json:"currency"`
}

// WriteInvoice is the handler. The row, the event on topic confirmations, and the record
// that the order is done share one commit.
func WriteInvoice(confirmations string) Handler {
	return func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[shopify.Order]) error {
		inv, err := shopify.InvoiceOf(m.Body, m.Metadata)
		if err != nil {
			return retry.Permanent(err) // no retry mends a wrong order: a dead letter, at once
		}
		_, err = tx.ExecContext(ctx, insertInvoice, m.Key, shopify.PrintableID(m.ID), inv.Shop, inv.OrderID, inv.OrderName,
			inv.Email, inv.Currency, inv.TotalMinor, inv.Lines)
		if err != nil {
			return fmt.Errorf("write invoice: %w", err) // rolled back and tried again, as the policy says
		}
		return tx.Publish(headrace.Event{
			Topic: confirmations, OrderKey: inv.Email,
			Value: Confirmation{inv.Shop, inv.OrderName, inv.Email, inv.TotalMinor, inv.Currency},
		})
	}
}

// CreateInvoices makes the handler's table. It has no unique index: an effect that was
// applied twice must show.
const CreateInvoices = `CREATE TABLE IF NOT EXISTS invoices (
    key         text NOT NULL, -- the message's key
    message_id  text NOT NULL,
    shop        text NOT NULL,
    order_id    bigint NOT NULL,
    order_name  text NOT NULL,
    email       text NOT NULL,
    currency    text NOT NULL,
    total_minor bigint NOT NULL, -- in the currency's smallest unit
    lines       integer NOT NULL
)`

const insertInvoice = `INSERT INTO invoices (key, message_id, shop, order_id, order_name, email, currency, total_minor, lines)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`
