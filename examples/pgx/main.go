package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/examples/pgx/db"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/postgres"
)

// Order is the body of orders.placed.
type Order struct {
	ID    string   `json:"id"`
	Total int64    `json:"total"` // in cents
	Items []string `json:"items"`
}

// addInvoice runs in the transaction of its message.
func addInvoice(ctx context.Context, tx *headrace.Tx, m *headrace.Message[Order]) error {
	ptx, err := postgres.PgxTx(tx)
	if err != nil {
		return err
	}
	queries := db.New(ptx)
	if err := queries.AddInvoice(ctx, db.AddInvoiceParams{OrderID: m.Body.ID, Total: m.Body.Total}); err != nil {
		return err // rolled back, and tried again
	}
	lines := make([]db.AddLinesParams, len(m.Body.Items))
	for i, item := range m.Body.Items {
		lines[i] = db.AddLinesParams{OrderID: m.Body.ID, Item: item}
	}
	_, err = queries.AddLines(ctx, lines)
	return err
}

// place writes the event in a transaction of the program's own.
func place(ctx context.Context, pool *pgxpool.Pool, ob *outbox.Outbox, o Order) error {
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		return ob.Publish(ctx, postgres.Execer(tx), headrace.Event{Topic: "orders.placed", OrderKey: o.ID, Value: o, Local: true})
	})
	if err == nil {
		ob.Wake()
	}
	return err
}

func run(ctx context.Context, dsn string, out io.Writer) error {
	pool, err := pgxpool.New(ctx, dsn)
	if err != nil {
		return err
	}
	defer pool.Close() // after the store
	st, err := postgres.OpenPool(ctx, pool, postgres.Options{Migrate: true})
	if err != nil {
		return err
	}
	defer st.Close()
	if _, err := pool.Exec(ctx, db.Schema); err != nil {
		return err
	}
	c, err := consumer.New("billing", st, consumer.Config{})
	if err != nil {
		return err
	}
	consumer.Handle(c, "orders.placed", addInvoice, consumer.Local())
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	const orders = 20
	for n := range orders {
		if err := place(ctx, pool, outbox.New(st.Outbox()), Order{ID: fmt.Sprint(n), Total: 4200, Items: []string{"tea", "pot"}}); err != nil {
			return err
		}
	}
	for ctx.Err() == nil {
		counted, err := db.New(pool).Count(ctx)
		if err != nil {
			return err
		}
		if counted.Invoices >= orders {
			fmt.Fprintf(out, "%d orders, %d invoices, %d lines\n", orders, counted.Invoices, counted.Lines)
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	stop()
	return <-ended
}

func main() {
	dsn := flag.String("dsn", os.Getenv("HEADRACE_TEST_POSTGRES"), "PostgreSQL `URL`")
	flag.Parse()
	if err := run(context.Background(), *dsn, os.Stdout); err != nil {
		log.Fatalf("pgx: %v", err)
	}
}
