package postgres

import (
	"context"
	"database/sql/driver"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/headrace/headrace/store/txn"
)

// This file prepares our statements on the connections of a pool, as txn.Statements does
// elsewhere: database/sql would close its prepared statements each time that a
// transaction gives its connection back.

// preparedKey is where a connection keeps its prepared statements.
const preparedKey = "headrace.prepared"

// prepared are our statements on a connection, with the time when each was prepared. All
// stores that share a pool share them: a statement's text names its schema.
type prepared map[string]time.Time

func (c *poolConn) prepared() prepared {
	data := c.Conn().PgConn().CustomData()
	p, ok := data[preparedKey].(prepared)
	if !ok {
		p = make(prepared)
		data[preparedKey] = p
	}
	return p
}

// prepare prepares query if it is ours, and again after txn.Replan: the server may keep a
// plan from when a table was empty.
func (c *poolConn) prepare(ctx context.Context, query string, args []driver.NamedValue) error {
	if len(args) == 0 || c.from.limit == 0 || !c.from.ours(query) || simple(args) || c.Conn().IsClosed() {
		return nil
	}
	p := c.prepared()
	since, ok := p[query]
	switch {
	case ok && time.Since(since) <= txn.Replan, !ok && len(p) >= c.from.limit:
		return nil
	case ok:
		delete(p, query)
		if err := c.Conn().Deallocate(ctx, query); err != nil {
			return err
		}
	}
	if _, err := c.Conn().Prepare(ctx, query, query); err != nil {
		return err
	}
	p[query] = time.Now()
	return nil
}

// simple reports whether args ask for a protocol of their own.
func simple(args []driver.NamedValue) bool {
	if len(args) == 0 {
		return false
	}
	_, mode := args[0].Value.(pgx.QueryExecMode)
	return mode
}

// look forgets query if err says that the server can no longer use it as it was prepared.
func (c *poolConn) look(query string, err error) {
	if err == nil || !txn.Outdated(err) {
		return
	}
	p := c.prepared()
	if _, ok := p[query]; ok {
		p[query] = time.Time{} // long ago
	}
}
