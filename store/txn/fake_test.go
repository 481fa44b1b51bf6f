package txn_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"slices"
	"sync"
	"testing"
)

// fake is a database that fails as it is told. The functions are set before the
// first use.
type fake struct {
	commit   func() error
	rollback func() error
	run      func(query string) error

	mu       sync.Mutex
	opened   int
	closed   int
	log      []string // statements, as they arrived
	prepared []string
}

// open returns a pool on f that is closed with the test.
func (f *fake) open(t *testing.T, limit int) *sql.DB {
	db := sql.OpenDB(f)
	db.SetMaxOpenConns(limit)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func (f *fake) note(list *[]string, s string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	*list = append(*list, s)
}

func (f *fake) statements() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.log)
}

func (f *fake) preparedOnes() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.prepared)
}

// connections returns how many were opened and closed.
func (f *fake) connections() (opened, closed int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.opened, f.closed
}

func (f *fake) Driver() driver.Driver { return nil }
func (f *fake) Connect(context.Context) (driver.Conn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.opened++
	return &fakeConn{f}, nil
}

type fakeConn struct{ f *fake }

func (c *fakeConn) Begin() (driver.Tx, error) { return c, nil }
func (c *fakeConn) Commit() error             { return call(c.f.commit) }
func (c *fakeConn) Rollback() error           { return call(c.f.rollback) }

func (c *fakeConn) Prepare(query string) (driver.Stmt, error) {
	c.f.note(&c.f.prepared, query)
	return &fakeStmt{c, query}, nil
}

func (c *fakeConn) Close() error {
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	c.f.closed++
	return nil
}

func (c *fakeConn) do(query string) error {
	c.f.note(&c.f.log, query)
	if c.f.run == nil {
		return nil
	}
	return c.f.run(query)
}

// ExecContext implements driver.ExecerContext, so that nothing is prepared unasked.
func (c *fakeConn) ExecContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Result, error) {
	return driver.ResultNoRows, c.do(query)
}

// QueryContext implements driver.QueryerContext.
func (c *fakeConn) QueryContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Rows, error) {
	return fakeRows{}, c.do(query)
}

type fakeStmt struct {
	c     *fakeConn
	query string
}

func (s *fakeStmt) Close() error  { return nil }
func (s *fakeStmt) NumInput() int { return -1 }
func (s *fakeStmt) Exec([]driver.Value) (driver.Result, error) {
	return driver.ResultNoRows, s.c.do("prepared " + s.query)
}
func (s *fakeStmt) Query([]driver.Value) (driver.Rows, error) {
	return fakeRows{}, s.c.do("prepared " + s.query)
}

type fakeRows struct{}

func (fakeRows) Columns() []string         { return []string{"n"} }
func (fakeRows) Close() error              { return nil }
func (fakeRows) Next([]driver.Value) error { return io.EOF }

func call(f func() error) error {
	if f == nil {
		return nil
	}
	return f()
}

// stateError and codeError are what PostgreSQL's and SQLite's drivers return.
type stateError string

func (e stateError) Error() string    { return "server said " + string(e) }
func (e stateError) SQLState() string { return string(e) }

type codeError int

func (e codeError) Error() string { return "sqlite said no" }
func (e codeError) Code() int     { return int(e) }
