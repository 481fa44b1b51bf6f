package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lib/pq"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/migrate"
	"github.com/headrace/headrace/internal/sqlfile"
	"github.com/headrace/headrace/internal/sqlops"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/internal/sqlstore"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

//go:embed parts/*.sql queries/*.sql checks/*.sql migrations/*.sql
var files embed.FS

// Open connects to the database of dsn, a URL or a list of key=value pairs. The
// connections are the store's own; Close ends them. Open blocks until the database has
// answered or ctx ends. An error that matches store.ErrSchema says what to run; no error
// shows the DSN.
func Open(ctx context.Context, dsn string, o Options) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if dsn == "" {
		return nil, errors.New("postgres: the DSN is empty")
	}
	c, err := newConnector(dsn, o)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(o.MaxConns)
	db.SetMaxIdleConns(o.MaxConns)
	db.SetConnMaxIdleTime(5 * time.Minute)
	s, err := open(ctx, db, o, connections{own: c})
	if err != nil {
		_ = db.Close()
		return nil, err
	}
	return s, nil
}

// New makes a store on the caller's connections; the caller closes them after the store. Set db.SetMaxIdleConns
// to what SetMaxOpenConns is: database/sql keeps two, and of more workers each connects anew for each transaction.
// Drivers: lib/pq and pgx/v5/stdlib; OpenPool is better for pgx. It blocks until the database has answered or ctx
// ends. An error that matches store.ErrSchema says what to run.
func New(ctx context.Context, db *sql.DB, o Options) (*Store, error) {
	o, err := o.unconnected("New")
	if err != nil {
		return nil, err
	}
	return open(ctx, db, o, connections{})
}

func open(ctx context.Context, db *sql.DB, o Options, c connections) (_ *Store, err error) {
	defer sqlrun.Wrap("postgres", &err)
	ofPGX, err := isPGX(ctx, db)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", refusedTLS(err))
	}
	s, err := build(db, ofPGX, o, c)
	if err != nil {
		return nil, err
	}
	switch {
	case o.Migrate:
		_, err = s.Migrate(ctx)
	case !o.Unchecked:
		err = migrate.Check(ctx, s.history, s.text.Scripts)
	}
	if err != nil {
		s.statements.Close()
		return nil, err
	}
	return s, nil
}

// build makes a store without a query to the database.
func build(db *sql.DB, ofPGX bool, o Options, c connections) (*Store, error) {
	text, err := sqlstore.ReadText(files, o.quoted())
	if err != nil {
		return nil, err
	}
	q, cache := text.Queries, max(o.StatementCache, 0)
	switch {
	case c.pool != nil: // it prepares by itself
		c.pool.ours, cache = q.Has, 0
	case c.own != nil && cache > 0:
		c.own.claim = newPreparedClaim(q.Get("inbox_claim_one"))
	}
	s := &Store{
		unreachable: c.own == nil && !ofPGX, db: db, connector: c.own, pool: c.pool, commitTimeout: commitTimeout, statements: txn.NewStatements(db, cache),
		text: text, ping: q.Get("ping"), same: q.Get("txn_same"), sealed: sqlfile.Bare(q.Get("txn_same")) + "; COMMIT", may: q.Get("roles_may"), login: q.Get("login"), refusal: q.Get("outbox_not_subscribed"),
		insert: inserts{
			outbox: o.Outbox, one: q.Get("outbox_insert_one"), ready: q.Get("outbox_insert"), delayed: q.Get("outbox_insert_delayed"),
		},
	}
	s.history = newHistory(s, o.Schema)
	s.begin = txn.Options{
		SQL:           sql.TxOptions{Isolation: sql.LevelReadCommitted},
		RolledBack:    rolledBack,
		Severity:      severity,
		Kill:          killer(c.own),
		Abandoned:     &s.abandoned,
		Alive:         q.Get("txn_alive"),
		CheckDeferred: q.Get("txn_check_deferred"),
		Restore:       q.Get("txn_restore"),
		CloseCursors:  q.Get("txn_close_cursors"),
		Switched:      s.switched,
	}
	if c.own != nil { // the claim is prepared apart
		s.begin.Cached = func(query string) bool { return query != c.own.claim.query }
	}
	if ofPGX { // its own cache is for the handlers' statements
		s.begin.Script = []any{pgx.QueryExecModeSimpleProtocol}
		s.begin.Cached = q.Has
	}
	if cache > 0 {
		s.begin.Statements = s.statements
	}
	s.tables = sqlstore.New(dialect{s}, q, sqlstore.Options{
		Schema: o.Schema, Scripts: text.Scripts, Name: o.Outbox, Floors: newFloors,
		Inbox: func(shared *sqlstore.Inbox) inbox.Store {
			in := &inboxStore{Inbox: shared, oneRow: c.pool != nil || c.own != nil}
			q.Fill("inbox", &in.sql)
			return in
		},
		Outbox: func(shared *sqlstore.Outbox) store.Outbox { return newOutboxStore(shared, s.insert) },
		Pruner: func(shared *sqlops.Rounds) inbox.Pruner {
			p := &pruneStore{Rounds: shared}
			q.Fill("prune", &p.sql)
			return p
		},
	})
	return s, nil
}

// rolledBack recognises the drivers' errors, without an SQLState, for a COMMIT that the
// server answered with ROLLBACK.
func rolledBack(err error) bool {
	return errors.Is(err, pq.ErrInFailedTransaction) || errors.Is(err, pgx.ErrTxCommitRollback)
}

// severity returns the severity of a server error: for lib/pq in the server's language,
// for pgx in English.
func severity(err error) string {
	var ofPQ *pq.Error
	var ofPGX *pgconn.PgError
	switch {
	case errors.As(err, &ofPQ):
		return ofPQ.Severity
	case errors.As(err, &ofPGX):
		return ofPGX.SeverityUnlocalized
	}
	return ""
}

// ofPGX is a connection of pgx/v5/stdlib, or one of a pool.
type ofPGX interface{ Conn() *pgx.Conn }

// isPGX reports whether db's connections are pgx's.
func isPGX(ctx context.Context, db *sql.DB) (is bool, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close() }()
	err = conn.Raw(func(driverConn any) error {
		_, is = driverConn.(ofPGX)
		return nil
	})
	return is, err
}

// killer returns the function that cuts a connection: our own, or one of pgx, which
// exposes its network connection.
func killer(c *connector) func(*sql.Conn) func() {
	if c != nil {
		return c.kill
	}
	return func(conn *sql.Conn) func() {
		var cut func()
		_ = conn.Raw(func(driverConn any) error {
			if p, ok := driverConn.(*poolConn); ok {
				cut = p.cut
			} else if p, ok := driverConn.(ofPGX); ok {
				network := p.Conn().PgConn().Conn()
				cut = func() { _ = network.Close() }
			}
			return nil
		})
		return cut
	}
}
