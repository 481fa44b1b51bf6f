package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/txn"
)

// openStore is a store with the other interfaces that the command needs.
type openStore struct {
	store.Store
	store.Checker
	store.Migrator
	io.Closer
}

// maxConns bounds the connections to PostgreSQL: the consumers need the others.
const maxConns = 4

// open opens the database. unchecked skips the check of its tables.
func (m *Main) open(ctx context.Context, db database, schema string, unchecked bool) (openStore, error) {
	if db.postgres != "" {
		st, err := postgres.Open(ctx, db.postgres, postgres.Options{Schema: schema, Unchecked: unchecked, MaxConns: maxConns})
		return openStore{st, st, st, st}, err
	}
	st, err := m.openSQLite(ctx, db, unchecked)
	return openStore{st, st, st, st}, err
}

// withStore opens the database for f and closes it.
func (m *Main) withStore(ctx context.Context, f func(openStore) error) error {
	db, err := m.locate()
	if err != nil {
		return err
	}
	return m.with(ctx, db, false, f)
}

// withMigrator opens the database without checking its tables, calls f and closes it.
// Unless make is set, it does not make a missing SQLite file, but uses an empty one
// elsewhere.
func (m *Main) withMigrator(ctx context.Context, make bool, f func(store.Migrator) error) error {
	db, err := m.locate()
	if err != nil {
		return err
	}
	if db.sqlite != "" && !make && isMissing(db.sqlite) {
		dir, err := os.MkdirTemp("", "headrace")
		if err != nil {
			return fmt.Errorf("make a scratch file: %w", err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		db.sqlite, db.readOnly = filepath.Join(dir, "empty.db"), false
	}
	return m.with(ctx, db, true, func(st openStore) error { return f(st) })
}

func (m *Main) with(ctx context.Context, db database, unchecked bool, f func(openStore) error) (err error) {
	st, err := m.open(ctx, db, m.flags.schema, unchecked)
	switch {
	case err != nil && db.sqlite != "" && isMissing(filepath.Dir(db.sqlite)):
		return fmt.Errorf("%w (%s, from %s)", err, db.shown, m.dsnFrom())
	case err != nil && db.sqlite != "" && isMissing(db.sqlite):
		return &noFileError{path: db.sqlite, from: m.dsnFrom(), make: m.command("migrate up")}
	case errors.Is(err, store.ErrSchema), txn.NotPermitted(err), errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w (%s, from %s)", err, db.shown, m.dsnFrom())
	case err != nil:
		return fmt.Errorf("%w (%s, from %s): is that the database, does it run, and can this machine reach it?", err, db.shown, m.dsnFrom())
	}
	defer func() {
		if closed := st.Close(); closed != nil {
			err = errors.Join(err, fmt.Errorf("close the database: %w", closed))
		}
	}()
	if err := m.mayTry(ctx, st); err != nil {
		return err
	}
	return f(st)
}

func isMissing(file string) bool {
	_, err := os.Stat(file)
	return errors.Is(err, fs.ErrNotExist)
}

// noFileError says that there is no file of that path. It matches store.ErrSchema.
type noFileError struct{ path, from, make string }

func (e *noFileError) Error() string {
	path := e.path
	if whole, err := filepath.Abs(path); err == nil {
		path = whole
	}
	return fmt.Sprintf("the file %s does not exist (sqlite:%s, from %s). Is the path right? `%s` would make a new, empty database there", path, e.path, e.from, e.make)
}

func (e *noFileError) Unwrap() error { return store.ErrSchema }
