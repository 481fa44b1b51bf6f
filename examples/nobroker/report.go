package main

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// figures are what a query over the tables finds.
type figures struct{ requests, orders, invoices, lost, twice int }

func (s *shop) figures(ctx context.Context) (f figures, err error) {
	err = s.DB.QueryRowContext(ctx, `SELECT
		(SELECT count(*) FROM requests),
		(SELECT count(*) FROM orders),
		(SELECT count(*) FROM invoices),
		(SELECT count(*) FROM requests AS r WHERE NOT EXISTS (SELECT 1 FROM invoices AS i WHERE i.order_id = r.id)),
		(SELECT count(*) FROM (SELECT id FROM orders GROUP BY id HAVING count(*) > 1) AS o)
			+ (SELECT count(*) FROM (SELECT order_id FROM invoices GROUP BY order_id HAVING count(*) > 1) AS i)`,
	).Scan(&f.requests, &f.orders, &f.invoices, &f.lost, &f.twice)
	if err != nil {
		return f, fmt.Errorf("count: %w", err)
	}
	return f, nil
}

// report prints the figures, and fails where they are not what was promised.
func (s *shop) report(ctx context.Context, w io.Writer) error {
	f, err := s.figures(ctx)
	if err != nil {
		return err
	}
	for _, line := range []struct {
		name  string
		n     int
		means string
	}{
		{"requests", f.requests, "written, each with its event"},
		{"orders", f.orders, `made by the consumer "orders", each with its event`},
		{"invoices", f.invoices, `made by the consumer "billing"`},
		{"lost", f.lost, "requests without an invoice"},
		{"applied twice", f.twice, "orders or invoices that are there more than once"},
	} {
		if _, err := fmt.Fprintf(w, "%-14s %6d  %s\n", line.name, line.n, line.means); err != nil {
			return err
		}
	}
	if f.lost+f.twice > 0 {
		return errors.New("a request was lost or applied twice")
	}
	return nil
}
