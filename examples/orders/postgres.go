package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	_ "github.com/lib/pq" // driver "postgres"

	"github.com/headrace/headrace/store/postgres"
)

func (d *database) openPostgres(ctx context.Context, dsn string) (*sql.DB, error) {
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		return nil, errors.New("the DSN cannot be read") // what the driver says of it may show the password
	}
	d.onClose(db.Close)
	db.SetMaxOpenConns(4)
	d.journal, d.reader, d.name = db, db.Conn, "PostgreSQL"
	d.snapshot = &sql.TxOptions{Isolation: sql.LevelRepeatableRead}
	// The schema of the DSN's search_path, so that all tables stand side by side.
	var schema string
	if err := db.QueryRowContext(ctx, "SELECT current_schema()").Scan(&schema); err != nil {
		return nil, fmt.Errorf("ask PostgreSQL for the schema: %w", err)
	}
	st, err := postgres.Open(ctx, dsn, postgres.Options{Migrate: true, Schema: schema})
	if err != nil {
		return nil, err
	}
	d.onClose(st.Close)
	d.Store, d.Checker = st, st
	return db, nil
}
