package headrace_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"testing"

	"go.uber.org/goleak"
	_ "modernc.org/sqlite"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/store/txn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// handlerTx returns the Tx of a handler, and the transaction under it, which the
// test rolls back.
func handlerTx(t *testing.T, db *sql.DB, o headrace.TxOptions) (*headrace.Tx, *txn.Txn) {
	t.Helper()
	under, err := txn.Begin(context.Background(), db, txn.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(under.Rollback)
	return headrace.NewTx(under, o), under
}

// database returns an empty SQLite database with a table "effects (n)".
func database(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "test.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.Exec("CREATE TABLE effects (n integer PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	return db
}

// effects returns the rows that q sees.
func effects(t *testing.T, q headrace.DBTX) (ns []int) {
	t.Helper()
	rows, err := q.QueryContext(context.Background(), "SELECT n FROM effects ORDER BY n")
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var n int
		if err := rows.Scan(&n); err != nil {
			t.Fatal(err)
		}
		ns = append(ns, n)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		t.Fatal(err)
	}
	return ns
}

func insert(ctx context.Context, q headrace.DBTX, n int) error {
	_, err := q.ExecContext(ctx, "INSERT INTO effects VALUES (?)", n)
	return err
}

// failing is a database that refuses some statements.
type failing struct {
	statements []string
	look       func(ctx context.Context, query string) error // if not nil
}

var errRefused = errors.New("refused by the database")

func (f failing) Driver() driver.Driver                        { return nil }
func (f failing) Connect(context.Context) (driver.Conn, error) { return f, nil }
func (f failing) Begin() (driver.Tx, error)                    { return f, nil }
func (f failing) Commit() error                                { return nil }
func (f failing) Rollback() error                              { return nil }
func (f failing) Close() error                                 { return nil }
func (f failing) Prepare(string) (driver.Stmt, error)          { return nil, errRefused }

func (f failing) ExecContext(ctx context.Context, query string, _ []driver.NamedValue) (driver.Result, error) {
	if f.look != nil {
		return driver.ResultNoRows, f.look(ctx, query)
	}
	if slices.Contains(f.statements, query) {
		return nil, errRefused
	}
	return driver.ResultNoRows, nil
}

func (f failing) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return nil, io.ErrUnexpectedEOF
}

func failingOn(t *testing.T, statements ...string) *sql.DB {
	return failing{statements: statements}.open(t)
}

func (f failing) open(t *testing.T) *sql.DB {
	db := sql.OpenDB(f)
	t.Cleanup(func() { _ = db.Close() })
	return db
}
