package adopt_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
)

// Native pgx on the message's transaction: for a handler registered with
// consumer.Alone. pgx must not begin or end a transaction there.
func copyInvoices(ctx context.Context, tx *headrace.Tx, m *headrace.Message[Order]) error {
	return tx.Raw(func(driverConn any) error {
		conn := driverConn.(*stdlib.Conn).Conn()
		rows := pgx.CopyFromRows([][]any{{m.Body.ID, m.Body.Total}})
		_, err := conn.CopyFrom(ctx, pgx.Identifier{"invoices"}, []string{"order_id", "total"}, rows)
		return err
	})
}

func TestPgxCopyFrom(t *testing.T) {
	st := openPgx(t)
	deliverTwice(t, st, func(c *consumer.Consumer) {
		consumer.Handle(c, "orders.paid", copyInvoices, consumer.Alone())
	})
	var n int
	must(t, st.DB().QueryRowContext(t.Context(), "SELECT count(*) FROM invoices WHERE total = 4200").Scan(&n))
	if n != 1 {
		t.Errorf("%d invoices", n)
	}
}
