package shop

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/store/sqlite"
)

// counts are what a query over the tables finds.
type counts struct{ invoices, invoiced, mails, mailed, dead int64 }

func count(ctx context.Context, st *sqlite.Store) (n counts, err error) {
	err = st.DB().QueryRowContext(ctx, `SELECT
		(SELECT count(*) FROM invoices), (SELECT count(DISTINCT order_id) FROM invoices),
		(SELECT count(*) FROM mails), (SELECT count(DISTINCT order_id) FROM mails)`,
	).Scan(&n.invoices, &n.invoiced, &n.mails, &n.mailed)
	if err != nil {
		return n, fmt.Errorf("count: %w", err)
	}
	n.dead, err = st.Letters().Count(ctx, dlq.Filter{})
	return n, err
}

// Report prints what became of the orders and what to try next, and returns an error unless
// every order has exactly what it should have. stopped is the context that ends with Ctrl-C.
func Report(stopped context.Context, w io.Writer, file string, c *consumer.Consumer, st *sqlite.Store) error {
	n, err := count(context.WithoutCancel(stopped), st)
	if err != nil {
		return err
	}
	s := c.Stats()
	for _, line := range []struct {
		name  string
		n     int64
		means string
	}{
		{"sent", sent, fmt.Sprintf("messages: %d orders, %d of them twice, %d of them poison", total, twice, poison)},
		{"duplicates", s.Duplicates, "deliveries that had no effect, because their order was taken before"},
		{"failed runs", s.FailedRuns, "of a handler: rolled back, and retried or dead"},
		{"dead letters", n.dead, "orders that no retry can mend"},
		{"invoices", n.invoices, "rows that the handler wrote"},
		{"mails", n.mails, "rows that the events of the invoices led to, through the outbox"},
		{"applied twice", n.invoices - n.invoiced + n.mails - n.mailed, "invoices and mails beyond the first of an order"},
	} {
		if _, err := fmt.Fprintf(w, "%-14s %4d  %s\n", line.name, line.n, line.means); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(w, next, file)
	switch want := int64(total - poison); {
	case err != nil:
		return err
	case stopped.Err() != nil:
		return fmt.Errorf("stopped; the same command with -db %s does the rest", file)
	case n != counts{want, want, want, want, poison}:
		return errors.New("these are not the right counts: an order was lost or applied twice, or is not done yet")
	}
	return nil
}

// next is what to try next.
const next = `
What to try next:
  export HEADRACE_DSN=sqlite:%[1]s
  go run ./cmd/headrace dlq ls         # the dead letters, and why
  go run ./cmd/headrace dlq show 1     # one of them, whole
  go run ./cmd/headrace inbox show 7   # an order that failed twice at first

The same command with -db %[1]s
sends all orders again, and nothing is applied twice.
`
