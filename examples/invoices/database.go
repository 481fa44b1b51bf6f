package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/sqlite"
)

// database is the shop's, with the table of the handler and those of headrace in it.
type database struct {
	store.Store
	db    *sql.DB
	close func() error
}

// openDatabase opens the PostgreSQL database dsn, or the SQLite file if dsn is "".
func openDatabase(ctx context.Context, file, dsn string) (*database, error) {
	if dsn == "" {
		st, err := sqlite.Open(ctx, file, sqlite.Options{Migrate: true})
		if err != nil {
			return nil, err
		}
		return &database{st, st.DB(), st.Close}, nil
	}
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		return nil, errors.New("-dsn cannot be read (it is not shown here)")
	}
	var schema string
	if err := db.QueryRowContext(ctx, "SELECT current_schema()").Scan(&schema); err != nil {
		return nil, errors.Join(errors.New("-dsn: no schema of that database can be read"), db.Close())
	}
	st, err := postgres.New(ctx, db, postgres.Options{Schema: schema, Migrate: true})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &database{st, db, func() error { return errors.Join(st.Close(), db.Close()) }}, nil
}

// create creates the handler's table. It must be a new one: the systems begin with nothing.
func (d *database) create(ctx context.Context) error {
	if _, err := d.db.ExecContext(ctx, "CREATE TABLE synced (order_id integer, invoice_id text)"); err != nil {
		return fmt.Errorf("create the table synced, which must not exist before: %w", err)
	}
	return nil
}

// synced returns how many rows the handler has written, and for how many orders.
func (d *database) synced(ctx context.Context) (rows, orders int, err error) {
	err = d.db.QueryRowContext(ctx, "SELECT count(*), count(DISTINCT order_id) FROM synced").Scan(&rows, &orders)
	return rows, orders, err
}
