package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/migrate"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// Store is one schema of one PostgreSQL database. It is safe for concurrent use.
type Store struct {
	db         *sql.DB
	plan       planner
	connector  *connector // nil where db is the caller's
	direct     *direct
	book       *book
	scripts    []migrate.Script
	checks     map[string]string
	statements *txn.Statements
	begin      txn.Options
	abandoned  txn.Abandoned
	patience   time.Duration // of Commit
	signal     *outbox.Signal
	signals    *backlog.Signals
	ping       string
	txnID      string

	inbox   *inboxStore
	backlog *backlogStore
	order   *orderStore
	leases  *leaseStore
	outbox  *outboxStore
	letters *letterStore
	alerts  *alertStore

	versions  *versionStore
	instances *instanceStore
	pauses    *pauseStore
	prune     *pruneStore
}

// What a Store is.
var (
	_ store.Store    = (*Store)(nil)
	_ store.Migrator = (*Store)(nil)
	_ store.Checker  = (*Store)(nil)
)

// commitTimeout bounds COMMIT and the statement before it. Past it the outcome is
// unknown.
const commitTimeout = 30 * time.Second

// closeTimeout bounds how long Close waits for an answer.
const closeTimeout = 30 * time.Second

// DB returns the connections, for the program's own statements. Do not close it.
func (s *Store) DB() *sql.DB { return s.db }

// Inbox implements store.Store.
func (s *Store) Inbox() inbox.Store { return s.inbox }

// Backlog implements store.Store.
func (s *Store) Backlog() backlog.Tables {
	return backlog.Tables{Store: s.backlog, Order: s.order, Leases: s.leases, Signals: s.signals}
}

// Outbox implements store.Store.
func (s *Store) Outbox() store.Outbox { return s.outbox }

// Operations implements store.Store.
func (s *Store) Operations() store.Operations {
	return store.Operations{
		Versions:  s.versions,
		Instances: s.instances,
		Pauses:    s.pauses,
		Pruner:    s.prune,
		Finder:    s.inbox,
		Alerts:    s.alerts,
	}
}

// Letters implements store.Store.
func (s *Store) Letters() dlq.Store { return s.letters }

// Begin implements store.Store.
func (s *Store) Begin(ctx context.Context) (*txn.Txn, error) {
	// A server that restarted leaves a pool of dead connections: past all of them.
	for tries := s.db.Stats().OpenConnections + 2; ; tries-- {
		t, err := txn.Begin(ctx, s.db, s.begin)
		if err == nil || !idleEnd(err) || tries <= 0 || ctx.Err() != nil {
			return t, err
		}
	}
}

// idleEnd reports whether err is of a connection that ended while it idled in the
// pool: another one may work. (A *sql.DB tries again by itself; a *sql.Conn cannot.)
func idleEnd(err error) bool {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return false
	}
	return errors.Is(err, driver.ErrBadConn) || txn.Classify(err) == txn.Connection
}

// Commit implements store.Store.
func (s *Store) Commit(ctx context.Context, t *txn.Txn, events []outbox.Row) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.patience)
	defer cancel()
	err := s.seal(ctx, t, events)
	if err == nil {
		return t.Commit(ctx)
	}
	if ctx.Err() != nil || txn.Classify(err) == txn.Connection {
		t.Discard() // a rollback could hang as the statement did
	} else {
		t.Rollback()
	}
	return err
}

// seal writes the events and finds out whether t is still the transaction of its
// claim, in one statement.
func (s *Store) seal(ctx context.Context, t *txn.Txn, events []outbox.Row) error {
	var id string
	var err error
	switch {
	case len(events) > 0:
		id, err = s.writeEvents(ctx, t, events)
	case t.ID() != "":
		id, err = s.text(ctx, t, s.txnID)
	}
	switch {
	case errors.Is(err, sql.ErrTxDone):
		return fmt.Errorf("commit: %w", inbox.ErrSwitched)
	case txn.Classify(err) == txn.Aborted:
		return fmt.Errorf("%w: a statement had failed, and its error was passed over: %w", txn.ErrRolledBack, err)
	case err != nil:
		return fmt.Errorf("write events: %w", err)
	case t.ID() != "" && id != t.ID():
		return fmt.Errorf("commit: %w", inbox.ErrSwitched)
	}
	return nil
}

// writeEvents writes the events, and returns the id of the transaction that runs.
func (s *Store) writeEvents(ctx context.Context, t *txn.Txn, events []outbox.Row) (id string, err error) {
	query, args, err := s.outbox.insert.of(events, t.ID())
	if err != nil {
		return "", err
	}
	return s.text(ctx, t, query, args...)
}

// text runs a statement of every commit, for the text that it returns.
func (s *Store) text(ctx context.Context, t *txn.Txn, query string, args ...any) (value string, err error) {
	if s.direct != nil {
		values, err := s.direct.row(ctx, t, query, args...)
		if err == nil {
			value, _ = values[0].(string)
		}
		if !errors.Is(err, errIndirect) {
			return value, err
		}
	}
	err = t.QueryRowContext(ctx, query, args...).Scan(&value)
	return value, err
}

// Ping implements store.Store.
func (s *Store) Ping(ctx context.Context) error {
	// Half of the time for a connection of the pool, which may have been cut.
	err := s.pingPooled(ctx)
	if err == nil || ctx.Err() != nil {
		return err
	}
	if s.connector == nil {
		return s.pingPooled(ctx)
	}
	conn, err := s.connector.Connect(ctx)
	if err != nil {
		return fmt.Errorf("ping: %w", err)
	}
	return conn.Close()
}

func (s *Store) pingPooled(ctx context.Context) error {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/2)
		defer cancel()
	}
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("ping: %w", err)
	}
	defer func() { _ = conn.Close() }()
	if cut := s.begin.Kill(conn); cut != nil {
		// lib/pq waits for the answer on a cut connection whatever ctx says.
		defer context.AfterFunc(ctx, cut)()
	}
	var one int
	if err := conn.QueryRowContext(ctx, s.ping).Scan(&one); err != nil {
		return fmt.Errorf("ping: %w", err)
	}
	return nil
}

// Close frees what the store holds: its prepared statements, and its connections
// where it made them; those on which nothing answers are cut after three seconds. It
// waits for what was given up without an answer, at most half a minute: only on the
// caller's connections does that take time. Call it after everything that uses the
// store has ended; later calls do nothing more.
func (s *Store) Close() error {
	if s.connector != nil {
		defer time.AfterFunc(cancelTime, s.connector.cut).Stop()
	}
	done := make(chan error, 1)
	go func() {
		s.statements.Close() // tells the server so on every idle connection
		<-s.abandoned.Ended()
		if s.connector != nil {
			done <- s.db.Close()
		}
		close(done)
	}()
	timer := time.NewTimer(closeTimeout)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return errors.New("postgres: close: a connection that was given up still waits for an answer")
	}
}
