package adopt_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/store/postgres"
)

// Native pgx in the message's transaction.
func copyInvoices(ctx context.Context, tx *headrace.Tx, m *headrace.Message[Order]) error {
	ptx, err := postgres.PgxTx(tx)
	if err != nil {
		return err
	}
	rows := pgx.CopyFromRows([][]any{{m.Body.ID, m.Body.Total}})
	_, err = ptx.CopyFrom(ctx, pgx.Identifier{"invoices"}, []string{"order_id", "total"}, rows)
	return err
}

func TestPgxCopyFrom(t *testing.T) {
	st := openPgx(t)
	deliverTwice(t, st, func(c *consumer.Consumer) {
		consumer.Handle(c, "orders.paid", copyInvoices)
	})
	var n int
	must(t, st.DB().QueryRowContext(t.Context(), "SELECT count(*) FROM invoices WHERE total = 4200").Scan(&n))
	if n != 1 {
		t.Errorf("%d invoices", n)
	}
}
