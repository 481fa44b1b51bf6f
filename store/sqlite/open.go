package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	driversqlite "modernc.org/sqlite"

	"github.com/headrace/headrace/internal/migrate"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/store/txn"
)

// Open opens the file at path as a store, and checks that its tables fit this version of
// headrace. If not, the error matches store.ErrSchema and says what to run, and nothing
// was changed. With Options.Migrate it makes the file if there is none, and the tables,
// but never a directory.
//
// Several stores, also in several processes, may open one file. Open blocks as long as
// reading the file takes, and with Options.Migrate until no other process migrates, or
// ctx ends.
func Open(ctx context.Context, path string, o Options) (_ *Store, err error) {
	defer sqlrun.Wrap("sqlite: open "+path, &err)
	o, err = o.withDefaults()
	if err != nil {
		return nil, err
	}
	abs, err := absolute(path)
	if err != nil {
		return nil, err
	}
	if err := checkLibrary(ctx); err != nil {
		return nil, err
	}
	g, err := gateOf(abs, o.Migrate || o.Unchecked && !o.ReadOnly)
	if err != nil {
		return nil, err
	}
	s, err := connect(abs, g, o)
	if err != nil {
		g.close()
		return nil, err
	}
	if err := s.start(ctx, o); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// probe checks the schema on a read-only connection that does not change the journal
// mode.
func (s *Store) probe(ctx context.Context) (err error) {
	k, err := driversqlite.NewConnector(uri(s.path, s.mode, "busy_timeout(5000)", "query_only(1)"))
	if err != nil {
		return err
	}
	db := sql.OpenDB(k)
	defer func() { err = errors.Join(err, db.Close()) }()
	return migrate.Check(ctx, history{meta: migrate.NewMeta(s.text.Queries, ""), db: db}, s.text.Scripts)
}

// readCache bounds the pages that each connection for reads keeps, to 512 KiB: most statements read
// a page once, and a page of the default 2 MiB takes twice its size in memory.
const readCache = "cache_size(-512)"

// connect makes the pools. It opens no connection.
func connect(abs string, g *gate, o Options) (*Store, error) {
	s := &Store{path: abs, mode: "rw", gate: g, busy: o.BusyTimeout}
	if o.ReadOnly {
		if err := s.readOnly(); err != nil {
			return nil, err
		}
	}
	writes, err := driversqlite.NewConnector(uri(abs, s.mode, pragmas(o.BusyTimeout)...))
	if err != nil {
		return nil, err
	}
	reads, err := driversqlite.NewConnector(uri(abs, s.mode, pragmas(o.BusyTimeout, "query_only(1)", readCache)...))
	if err != nil {
		return nil, err
	}
	s.work = sql.OpenDB(connector{Connector: writes, gate: g, busy: o.BusyTimeout, mode: s.mode})
	s.user = sql.OpenDB(connector{Connector: writes, gate: g, busy: o.BusyTimeout, mode: s.mode})
	s.read = sql.OpenDB(connector{Connector: reads, busy: o.BusyTimeout, mode: s.mode})
	// One transaction has the turn. The other connection is for the next one while the
	// pool still takes the first back, and for preparing statements.
	limit(s.work, 2)
	limit(s.read, o.ReadConns)
	s.statements = txn.NewStatements(s.work, maxStatements)
	return s, nil
}

func limit(db *sql.DB, conns int) {
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	db.SetConnMaxIdleTime(time.Hour)
}

// start reads the statements, and migrates or checks.
func (s *Store) start(ctx context.Context, o Options) error {
	if err := s.load(o.Outbox); err != nil {
		return err
	}
	switch {
	case o.Migrate:
		if _, err := s.Migrate(ctx); err != nil {
			return err
		}
	case !o.Unchecked:
		// The first connection in WAL mode writes to the file. A file that does not fit
		// stays unchanged.
		if err := s.probe(ctx); err != nil {
			return err
		}
	}
	if o.ReadOnly {
		return s.read.PingContext(ctx)
	}
	// The first connection that writes finds out whether it is allowed to.
	return s.work.PingContext(ctx)
}
