package story

import (
	"context"
	"fmt"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/retry"
)

// confirmations is the topic that customers' confirmations are published to.
const confirmations = "confirmations"

// confirmation tells a customer that the invoice is written.
type confirmation struct {
	Shop      string `json:"shop"`
	OrderName string `json:"order_name"`
	Email     string `json:"email"`
	Total     int64  `json:"total_minor"`
	Currency  string `json:"currency"`
}

// writeInvoice is the handler: one row, one event, one commit.
var writeInvoice = writeInvoiceTo(confirmations)

// writeInvoiceTo is writeInvoice with a topic of its own for the confirmations.
func writeInvoiceTo(confirmations string) handler {
	return func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[order]) error {
		return invoiced(ctx, tx, m, confirmations)
	}
}

func invoiced(ctx context.Context, tx *headrace.Tx, m *headrace.Message[order], confirmations string) error {
	inv, err := invoiceOf(m.Body, m.Metadata)
	if err != nil {
		return retry.Permanent(err) // no retry mends a wrong order: a dead letter, at once
	}
	_, err = tx.ExecContext(ctx, insertInvoice, m.Key, printable(m.ID), inv.Shop, inv.OrderID, inv.OrderName,
		inv.Email, inv.Currency, inv.TotalMinor, inv.Lines)
	if err != nil {
		return fmt.Errorf("write invoice: %w", err) // rolled back and tried again, as the policy says
	}
	return tx.Publish(headrace.Event{
		Topic:    confirmations,
		OrderKey: inv.Email,
		Value:    confirmation{inv.Shop, inv.OrderName, inv.Email, inv.TotalMinor, inv.Currency},
	})
}
