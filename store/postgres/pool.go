package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
)

// OpenPool makes a store on the caller's pool of pgx; the caller closes the pool after the
// store. A transaction takes a connection of the pool and gives it back, so that the
// program's own use of the pool and the store share its MaxConns: a worker of a consumer
// needs one. It blocks until the database has answered or ctx ends. An error that matches
// store.ErrSchema says what to run.
//
// Handlers may have their transaction as a pgx.Tx (PgxTx). On a pool whose
// DefaultQueryExecMode is exec, for pgbouncer, set Options.StatementCache to -1.
func OpenPool(ctx context.Context, pool *pgxpool.Pool, o Options) (*Store, error) {
	o, err := o.unconnected("OpenPool")
	if err != nil {
		return nil, err
	}
	if pool == nil {
		return nil, errors.New("postgres: the pool is nil")
	}
	p := &poolConnector{Connector: stdlib.GetPoolConnector(pool), pool: pool, limit: max(o.StatementCache, 0)}
	db := sql.OpenDB(p)
	db.SetMaxIdleConns(0) // the pool has them
	s, err := open(ctx, db, o, connections{pool: p})
	if err != nil {
		_ = db.Close()
		return nil, err
	}
	return s, nil
}

// connections says whose connections a store has: its own of lib/pq, those of a pool of
// pgx, or, without either, those of the caller's *sql.DB.
type connections struct {
	own  *connector
	pool *poolConnector
}

// poolConnector makes database/sql's connections out of a pool's, for one transaction or
// statement each.
type poolConnector struct {
	driver.Connector
	pool  *pgxpool.Pool
	limit int                     // of prepared statements on a connection; 0 is none
	ours  func(query string) bool // the queries that are prepared here
}

// Connect implements driver.Connector. It takes a connection of the pool.
func (p *poolConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := p.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &poolConn{stdConn: conn.(*stdlib.Conn), from: p}, nil
}

// stdConn gives the embedded connection a name that hides no method.
type stdConn = stdlib.Conn

// poolConn is a connection that belongs to a pool of pgx.
type poolConn struct {
	*stdConn
	from *poolConnector

	late   *pgx.TxOptions // of a BEGIN that travels with the first statement
	failed error          // why that BEGIN has not worked
	tx     pgx.Tx         // the one that was begun last
	lent   bool           // a handler has something of it that pgxTx does not guard
	last   *statement     // it travels with COMMIT

	mu     sync.Mutex // guards the change of the connection against cut
	wasCut bool
	gone   bool   // given back
	stop   func() // ends the wait for another connection
	// valid says that database/sql asked whether the connection may be used again. It does
	// not ask for one that was thrown away, by driver.ErrBadConn.
	valid bool
}

// IsValid implements driver.Validator.
func (c *poolConn) IsValid() bool {
	c.valid = true
	return true // the pool looks for itself
}

// ResetSession implements driver.SessionResetter: the connection is used again.
func (c *poolConn) ResetSession(ctx context.Context) error {
	c.valid = false
	return c.stdConn.ResetSession(ctx)
}

// Close implements driver.Conn. It gives the connection back to the pool, or closes it if
// it was thrown away: its session may have a lock, a role or settings.
func (c *poolConn) Close() error {
	if !c.valid {
		ctx, cancel := context.WithTimeout(context.Background(), cancelTime)
		defer cancel()
		_ = c.Conn().Close(ctx)
	}
	c.mu.Lock()
	c.gone = true
	c.mu.Unlock()
	return c.stdConn.Close()
}

// isolation are the levels of pgx for those of database/sql.
var isolation = map[sql.IsolationLevel]pgx.TxIsoLevel{
	sql.LevelDefault: "", sql.LevelReadUncommitted: pgx.ReadUncommitted, sql.LevelReadCommitted: pgx.ReadCommitted,
	sql.LevelRepeatableRead: pgx.RepeatableRead, sql.LevelSnapshot: pgx.RepeatableRead, sql.LevelSerializable: pgx.Serializable,
}

// BeginTx implements driver.ConnBeginTx.
func (c *poolConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	level, ok := isolation[sql.IsolationLevel(o.Isolation)]
	if !ok {
		return nil, fmt.Errorf("unsupported isolation: %s", sql.IsolationLevel(o.Isolation))
	}
	options := pgx.TxOptions{IsoLevel: level}
	if o.ReadOnly {
		options.AccessMode = pgx.ReadOnly
	}
	if c.Conn().IsClosed() {
		return nil, driver.ErrBadConn
	}
	c.late, c.failed, c.lent, c.last = nil, nil, false, nil
	if ctx.Value(lateBegin{}) != nil {
		c.late = &options
		return poolTx{c}, nil
	}
	var err error
	if c.tx, err = c.Conn().BeginTx(ctx, options); err != nil {
		return nil, err
	}
	return poolTx{c}, nil
}

func (c *poolConn) sends(last *statement) { c.last = last }

// poolTx is the transaction of a poolConn for database/sql, which bounds neither end.
type poolTx struct{ *poolConn }

// Commit implements driver.Tx.
func (t poolTx) Commit() error { return t.commit() }

// Rollback implements driver.Tx.
func (t poolTx) Rollback() error {
	if t.late != nil {
		return nil // nothing was sent
	}
	return t.tx.Rollback(context.Background())
}

// PrepareContext implements driver.ConnPrepareContext.
func (c *poolConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if err := c.begun(ctx); err != nil {
		return nil, err
	}
	return c.stdConn.PrepareContext(ctx, query)
}

// ready sends BEGIN if that waits, and prepares query if it is ours.
func (c *poolConn) ready(ctx context.Context, query string, args []driver.NamedValue) error {
	if err := c.begun(ctx); err != nil {
		return err
	}
	return c.prepare(ctx, query, args)
}

// ExecContext implements driver.ExecerContext.
func (c *poolConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if row, ok := ctx.Value(oneRow{}).(*[]driver.Value); ok {
		return c.execOne(ctx, query, args, row)
	}
	if err := c.ready(ctx, query, args); err != nil {
		return nil, err
	}
	result, err := c.stdConn.ExecContext(ctx, query, args)
	c.look(query, err)
	return result, err
}

// QueryContext implements driver.QueryerContext.
func (c *poolConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if c.late != nil && c.from.ours(query) && !simple(args) {
		rows, err := c.queryFirst(ctx, query, args)
		if err != nil {
			return nil, err
		}
		return rows, nil
	}
	if err := c.ready(ctx, query, args); err != nil {
		return nil, err
	}
	rows, err := c.stdConn.QueryContext(ctx, query, args)
	c.look(query, err)
	return rows, err
}
