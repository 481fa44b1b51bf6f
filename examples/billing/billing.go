package billing

import (
	"context"
	"errors"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store"
)

// Order is the body of a message.
type Order struct {
	ID    int `json:"id"`
	Total int `json:"total"` // in cents
}

// New returns the consumer: how it fails, and its handlers. config says where messages come
// from and where events go; paid is the topic of orders, created that of the events, and
// mail are the options of the handler of those.
func New(st store.Store, config consumer.Config, paid, created string, mail ...consumer.Option) (*consumer.Consumer, error) {
	// An order that is sent twice has two message ids and one key.
	config.Key = inbox.First(inbox.JSON("id"), inbox.MessageID())
	config.Retry = retry.Policy{MaxAttempts: 5, Backoff: retry.Backoff{Initial: 100 * time.Millisecond}}
	c, err := consumer.New("billing", st, config)
	if err != nil {
		return nil, err
	}
	consumer.Handle(c, paid, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[Order]) error {
		return writeInvoice(ctx, tx, m, created)
	})
	consumer.Handle(c, created, writeMail, mail...)
	return c, nil
}

// writeInvoice does all of its work in tx: the row, the event and the record that the order
// is done share one commit.
func writeInvoice(ctx context.Context, tx *headrace.Tx, m *headrace.Message[Order], created string) error {
	if m.Body.Total <= 0 {
		return retry.Permanent(errors.New("the total is not positive")) // a dead letter, at once
	}
	_, err := tx.ExecContext(ctx, "INSERT INTO invoices (order_id, total) VALUES ($1, $2)", m.Body.ID, m.Body.Total)
	if err != nil {
		return err
	}
	if m.Body.ID%10 == 7 && m.Attempt < 3 {
		return errors.New("a simulated failure") // the invoice is rolled back, the message retried
	}
	return tx.Publish(headrace.Event{Topic: created, Value: m.Body})
}

// writeMail stands for another service that gets the event.
func writeMail(ctx context.Context, tx *headrace.Tx, m *headrace.Message[Order]) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO mails (order_id) VALUES ($1)", m.Body.ID)
	return err
}
