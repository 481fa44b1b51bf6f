package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/lib/pq"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/internal/migrate"
	"github.com/headrace/headrace/internal/sqlfile"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

//go:embed queries/*.sql checks/*.sql migrations/*.sql
var files embed.FS

// Open connects to the database of dsn, a URL or a list of key=value pairs, with
// connections of the store's own; Close ends them. It blocks until the database
// has answered or ctx ends. An error that matches store.ErrSchema says what to run;
// no error shows the DSN.
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
	s, err := open(ctx, db, o, c)
	if err != nil {
		_ = db.Close()
		return nil, err
	}
	return s, nil
}

// New makes a store on connections of the caller's, who closes them after the
// store. Drivers: lib/pq and pgx/v5/stdlib. It blocks until the database has
// answered or ctx ends. An error that matches store.ErrSchema says what to run.
func New(ctx context.Context, db *sql.DB, o Options) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	return open(ctx, db, o, nil)
}

func open(ctx context.Context, db *sql.DB, o Options, c *connector) (*Store, error) {
	plan, err := plannerOf(ctx, db)
	if err != nil {
		return nil, fmt.Errorf("postgres: connect: %w", err)
	}
	s, err := build(db, plan, o, c)
	if err != nil {
		return nil, err
	}
	switch {
	case o.Migrate:
		_, err = s.Migrate(ctx)
	case !o.Unchecked:
		err = migrate.Check(ctx, s.book, s.scripts)
	}
	if err != nil {
		s.statements.Close()
		return nil, fmt.Errorf("postgres: %w", err)
	}
	return s, nil
}

// build puts a store together without asking the database anything.
func build(db *sql.DB, plan planner, o Options, c *connector) (*Store, error) {
	queries, err := sqlfile.Load(files, "queries", o.quoted())
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	checks, err := sqlfile.Load(files, "checks", o.quoted())
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	scripts, err := migrate.Parse(files, "migrations", o.quoted())
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	s := &Store{
		db: db, plan: plan, connector: c, checks: checks, scripts: scripts, patience: commitTimeout,
		book:       newBook(db, queries, o.Schema),
		ping:       sqlfile.Get(queries, "ping"),
		txnID:      sqlfile.Get(queries, "txn_id"),
		statements: txn.NewStatements(db, cacheSize(db, o)),
		signal:     outbox.NewSignal(),
		signals:    backlog.NewSignals(),
	}
	s.begin = txn.Options{
		SQL:        sql.TxOptions{Isolation: sql.LevelReadCommitted},
		RolledBack: rolledBack,
		Kill:       killer(c),
		Abandoned:  &s.abandoned,
	}
	if cacheSize(db, o) > 0 {
		s.begin.Statements = s.statements
		if c != nil {
			s.direct = &direct{c}
		}
	}
	s.inbox = newInbox(db, plan, queries)
	s.inbox.direct = s.direct
	s.backlog = newBacklog(db, plan, queries, o.Schema)
	s.order = newOrder(plan, queries)
	s.leases = newLeases(db, plan, queries)
	s.outbox = newOutbox(db, plan, queries, o.Schema, s.signal)
	s.letters = newLetters(db, plan, queries)
	s.alerts = newAlerts(db, plan, queries)
	s.versions = newVersions(queries)
	s.instances = newInstances(s, queries)
	s.pauses = newPauses(s, queries)
	s.prune = newPrune(s, queries)
	return s, nil
}

func cacheSize(db *sql.DB, o Options) int {
	if o.StatementCache != 0 {
		return max(o.StatementCache, 0)
	}
	if _, ok := db.Driver().(*pq.Driver); ok {
		return defaultCache
	}
	return 0
}

// rolledBack recognises what the drivers say, without an SQLState, of a COMMIT that
// was answered with ROLLBACK.
func rolledBack(err error) bool {
	return errors.Is(err, pq.ErrInFailedTransaction) || errors.Is(err, pgx.ErrTxCommitRollback)
}

// ofPGX is a connection of pgx/v5/stdlib, which is not imported: that would register
// its driver in every program.
type ofPGX interface{ Conn() *pgx.Conn }

// plannerOf asks a connection which driver it is of.
func plannerOf(ctx context.Context, db *sql.DB) (planner, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return planner{}, err
	}
	defer func() { _ = conn.Close() }()
	var plan planner
	err = conn.Raw(func(driverConn any) error {
		if _, ok := driverConn.(ofPGX); ok {
			plan.mode = []any{pgx.QueryExecModeExec}
		}
		return nil
	})
	return plan, err
}

// killer returns what cuts a connection: our own, or one of pgx, which lets itself
// be reached into.
func killer(c *connector) func(*sql.Conn) func() {
	if c != nil {
		return c.kill
	}
	return func(conn *sql.Conn) func() {
		var cut func()
		_ = conn.Raw(func(driverConn any) error {
			if p, ok := driverConn.(ofPGX); ok {
				network := p.Conn().PgConn().Conn()
				cut = func() { _ = network.Close() }
			}
			return nil
		})
		return cut
	}
}
