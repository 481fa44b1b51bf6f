package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/sqlite"
)

// Database has the tables of headrace, and room for those of the example.
type Database struct {
	store.Store
	store.Checker
	// DB is for the example's own statements, in the schema of headrace's tables.
	DB *sql.DB
	// Close closes both.
	Close func() error
}

// Open opens the PostgreSQL database dsn, or the SQLite file if dsn is "". An error does
// not show the dsn.
func Open(ctx context.Context, file, dsn string) (*Database, error) {
	if dsn == "" {
		st, err := sqlite.Open(ctx, file, sqlite.Options{Migrate: true})
		if err != nil {
			return nil, err
		}
		return &Database{st, st, st.DB(), st.Close}, nil
	}
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		return nil, errors.New("-dsn cannot be read (it is not shown here)")
	}
	db.SetMaxOpenConns(20)
	db.SetMaxIdleConns(20)
	var schema string
	if err := db.QueryRowContext(ctx, "SELECT current_schema()").Scan(&schema); err != nil {
		return nil, errors.Join(errors.New("-dsn: no schema of that database can be read"), db.Close())
	}
	st, err := postgres.New(ctx, db, postgres.Options{Schema: schema, Migrate: true})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &Database{st, st, db, func() error { return errors.Join(st.Close(), db.Close()) }}, nil
}

// Invariants returns an error that names each rule of headrace's tables that is broken.
func (d *Database) Invariants(ctx context.Context) error {
	report, err := d.Check(ctx)
	if err != nil {
		return err
	}
	for _, rule := range report.Rules {
		if rule.Violations > 0 {
			err = errors.Join(err, fmt.Errorf("invariant broken: %s: %d times, for example %s", rule.Says, rule.Violations, rule.Example))
		}
	}
	return err
}

// MadeOnce returns an error unless headrace steps find names one step that made id in system.
func (d *Database) MadeOnce(ctx context.Context, system, id string) error {
	rows, err := d.Operations().StepAdmin.Find(ctx, system, id, 2)
	if err == nil && len(rows) != 1 {
		return fmt.Errorf("%d steps made %q in the system %s", len(rows), id, system)
	}
	return err
}
