package story

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // driver "sqlite"

	"github.com/headrace/headrace/examples/orders/billing"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/sqlite"
)

// database is where orders become invoices, and where the journal is kept.
type database struct {
	store.Store
	store.Checker
	name     string  // for people, without secrets
	file     string  // of SQLite; "" for PostgreSQL
	journal  *sql.DB // connections apart from the store's
	reader   func(context.Context) (*sql.Conn, error)
	snapshot *sql.TxOptions
	closers  []func() error
}

// close closes everything, what was opened last first.
func (d *database) close() error {
	var err error
	for i := len(d.closers) - 1; i >= 0; i-- {
		err = errors.Join(err, d.closers[i]())
	}
	return err
}

func (d *database) onClose(f func() error) { d.closers = append(d.closers, f) }

// temporary says that the database is gone after the run.
func (o options) temporary() bool { return o.db == "" && o.dsn == "" }

// openDatabase opens what the flags ask for, with all tables.
func openDatabase(ctx context.Context, o options) (*database, error) {
	d := &database{}
	var user *sql.DB
	var err error
	switch {
	case o.dsn != "":
		user, err = d.openPostgres(ctx, o.dsn)
	case o.db != "":
		user, err = d.openSQLite(ctx, o.db)
	default:
		var dir string
		if dir, err = os.MkdirTemp("", "orders-"); err != nil {
			return nil, fmt.Errorf("make a directory for the database: %w", err)
		}
		d.onClose(func() error { return os.RemoveAll(dir) })
		user, err = d.openSQLite(ctx, filepath.Join(dir, "orders.db"))
		d.name = "a temporary SQLite file"
	}
	if err == nil {
		err = createInvoices(ctx, user)
	}
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

func (d *database) openSQLite(ctx context.Context, file string) (*sql.DB, error) {
	st, err := sqlite.Open(ctx, file, sqlite.Options{Migrate: true})
	if err != nil {
		return nil, err
	}
	d.onClose(st.Close)
	d.Store, d.Checker, d.name, d.file = st, st, file, file
	// A file of its own: a second writer on the store's would stand in its way.
	log := file + ".source"
	d.journal, err = sql.Open("sqlite", uri(log)+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate")
	if err != nil {
		return nil, fmt.Errorf("open the journal: %w", err)
	}
	d.onClose(d.journal.Close)
	d.journal.SetMaxOpenConns(1)
	tables, err := sql.Open("sqlite", uri(file)+"?_pragma=busy_timeout(10000)")
	if err != nil {
		return nil, fmt.Errorf("open %s to read: %w", file, err)
	}
	d.onClose(tables.Close)
	tables.SetMaxIdleConns(-1) // each reader attaches the journal anew
	d.reader = func(ctx context.Context) (*sql.Conn, error) {
		conn, err := tables.Conn(ctx)
		if err != nil {
			return nil, err
		}
		if _, err := conn.ExecContext(ctx, "ATTACH DATABASE $1 AS source", uri(log)); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		return conn, nil
	}
	return st.DB(), nil
}

// uri names a file as SQLite reads it, whatever characters it has.
func uri(file string) string {
	abs, err := filepath.Abs(file)
	if err != nil {
		abs = file
	}
	return "file://" + (&url.URL{Path: filepath.ToSlash(abs)}).EscapedPath()
}

// createInvoices makes the table that the handler writes.
func createInvoices(ctx context.Context, db *sql.DB) error {
	return create(ctx, db, billing.CreateInvoices, sqlText("create_invoices_key"))
}

// create runs statements that make what is missing. Two processes that do so at once on PostgreSQL can fail
// although IF NOT EXISTS stands there; by then the other one has made it, and the second try finds it.
func create(ctx context.Context, db *sql.DB, statements ...string) error {
	for _, statement := range statements {
		_, err := db.ExecContext(ctx, statement)
		if err != nil {
			_, err = db.ExecContext(ctx, statement)
		}
		if err != nil {
			return fmt.Errorf("make a table: %w", err)
		}
	}
	return nil
}
