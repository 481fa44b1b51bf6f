package db

import (
	"context"

	"github.com/jackc/pgx/v5"
)

const addInvoice = `-- name: AddInvoice :exec
INSERT INTO invoices (order_id, total) VALUES ($1, $2)
`

// AddInvoiceParams are the arguments of AddInvoice.
type AddInvoiceParams struct {
	OrderID string
	Total   int64
}

// AddInvoice adds an invoice.
func (q *Queries) AddInvoice(ctx context.Context, arg AddInvoiceParams) error {
	_, err := q.db.Exec(ctx, addInvoice, arg.OrderID, arg.Total)
	return err
}

// AddLinesParams is a line of an order.
type AddLinesParams struct {
	OrderID string
	Item    string
}

// AddLines copies the lines of an order.
func (q *Queries) AddLines(ctx context.Context, arg []AddLinesParams) (int64, error) {
	return q.db.CopyFrom(ctx, pgx.Identifier{"lines"}, []string{"order_id", "item"}, pgx.CopyFromSlice(len(arg), func(i int) ([]any, error) {
		return []any{arg[i].OrderID, arg[i].Item}, nil
	}))
}

const count = `-- name: Count :one
SELECT (SELECT count(*) FROM invoices) AS invoices, (SELECT count(*) FROM lines) AS lines
`

// CountRow is the result of Count.
type CountRow struct {
	Invoices int64
	Lines    int64
}

// Count counts the rows of both tables.
func (q *Queries) Count(ctx context.Context) (CountRow, error) {
	row := q.db.QueryRow(ctx, count)
	var i CountRow
	err := row.Scan(&i.Invoices, &i.Lines)
	return i, err
}
