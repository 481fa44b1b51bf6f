package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/lib/pq"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/sqlstore"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// Store is one schema of one PostgreSQL database. It is safe for concurrent use.
type Store struct {
	db         *sql.DB
	connector  *connector     // nil unless the connections are its own
	pool       *poolConnector // nil unless they are of a pool of pgx
	text       sqlstore.Text
	history    *history
	statements *txn.Statements
	begin      txn.Options
	abandoned  txn.Abandoned
	// unreachable says that a connection without an answer cannot be cut.
	unreachable   bool
	commitTimeout time.Duration
	insert        inserts
	ping          string
	same          string
	// sealed is same and COMMIT in one message. Such a message has no arguments: the id itself is put in the place of $1.
	sealed  string
	may     string
	login   string
	refusal string // to subscribe to the outbox
	tables
}

// tables has the methods of store.Store that return tables.
type tables = sqlstore.Tables

// A Store implements these.
var (
	_ store.Store    = (*Store)(nil)
	_ store.Migrator = (*Store)(nil)
	_ store.Checker  = (*Store)(nil)
)

// commitTimeout bounds COMMIT and the statement before it. After it the outcome is
// unknown.
const commitTimeout = 30 * time.Second

// closeTimeout bounds how long Close waits for an answer.
const closeTimeout = 30 * time.Second

// DB returns the connections, for the program's own statements. Do not close it. With Open, what sql.Conn.Raw
// gives is lib/pq's connection behind a method Unwrap() driver.Conn.
func (s *Store) DB() *sql.DB { return s.db }

// Begin implements store.Store.
func (s *Store) Begin(ctx context.Context) (*txn.Txn, error) {
	if s.pool != nil || s.connector != nil {
		ctx = context.WithValue(ctx, lateBegin{}, true)
	}
	return pastIdleEnds(ctx, s.db.Stats().OpenConnections, func() (*txn.Txn, error) { return txn.Begin(ctx, s.db, s.begin) })
}

// pastIdleEnds calls f again while its connection had ended idle in a pool that has this many:
// a server that restarted leaves a pool of dead connections.
func pastIdleEnds[T any](ctx context.Context, connections int, f func() (T, error)) (T, error) {
	for tries := connections + 2; ; tries-- {
		v, err := f()
		if err == nil || !idleEnd(err) || tries <= 0 || ctx.Err() != nil {
			return v, err
		}
	}
}

// idleEnd reports whether err comes from a connection that ended while it was idle in the
// pool: another one may work. (A *sql.DB retries by itself; a *sql.Conn cannot.)
func idleEnd(err error) bool {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return false
	}
	return errors.Is(err, driver.ErrBadConn) || txn.Classify(err) == txn.Connection
}

// Commit implements store.Store.
func (s *Store) Commit(ctx context.Context, t *txn.Txn, events []outbox.Row) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.commitTimeout)
	defer cancel()
	if s.pool != nil || s.connector != nil && len(events) == 0 {
		return s.commitInOne(ctx, t, events)
	}
	err := s.seal(ctx, t, events)
	if err == nil {
		return t.Commit(ctx)
	}
	if ctx.Err() != nil || txn.Classify(err) == txn.Connection {
		t.Discard() // a rollback could hang like the statement
	} else {
		t.Rollback()
	}
	return err
}

// commitInOne commits in one round trip with the events, and with the check that t is
// still the transaction of its claim.
func (s *Store) commitInOne(ctx context.Context, t *txn.Txn, events []outbox.Row) error {
	last, err := s.last(t, events)
	if err == nil && last != nil {
		if err = t.Raw(func(conn any) error { conn.(sender).sends(last); return nil }); errors.Is(err, sql.ErrConnDone) {
			err = nil // COMMIT says so
		}
	}
	if err != nil {
		t.Rollback()
		return notSealed(err)
	}
	err = t.Commit(ctx)
	switch {
	case errors.Is(err, sql.ErrTxDone):
		return notSealed(err)
	case last != nil && last.failed != nil && errors.Is(err, txn.ErrRolledBack):
		return notSealed(last.failed)
	}
	return err
}

// seal writes the events and checks, in one statement, that t is still the transaction of
// its claim.
func (s *Store) seal(ctx context.Context, t *txn.Txn, events []outbox.Row) error {
	last, err := s.last(t, events)
	if err == nil && last != nil {
		guarded, stop := txn.Guarded(ctx, t)
		_, err = t.ExecContext(guarded, last.query, last.args...)
		stop()
	}
	return notSealed(err)
}

// last returns the statement in front of COMMIT. It writes the events, and fails unless t is
// still the transaction of its claim. It is nil if there are no events and no claim.
func (s *Store) last(t *txn.Txn, events []outbox.Row) (*statement, error) {
	switch {
	case len(events) > 0:
		query, args, err := s.insert.of(events, t.ID())
		return &statement{query: query, args: args}, err
	case t.ID() != "" && s.connector != nil:
		return &statement{query: strings.Replace(s.sealed, "$1", pq.QuoteLiteral(t.ID()), 1)}, nil
	case t.ID() != "":
		return &statement{query: s.same, args: []any{t.ID()}}, nil
	}
	return nil, nil
}

// switched reports whether err is that of a statement of last in another transaction.
func switched(err error) bool {
	e, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err)
	return ok && e.SQLState() == "22P02"
}

// switched is txn.Options.Switched.
func (s *Store) switched(ctx context.Context, t *txn.Txn) bool {
	_, err := t.SQL().ExecContext(ctx, s.same, t.ID())
	return switched(err)
}

// notSealed describes the error of a statement in front of COMMIT; nil stays nil.
func notSealed(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrTxDone), switched(err):
		return fmt.Errorf("commit: %w", inbox.ErrSwitched)
	case txn.Classify(err) == txn.Aborted:
		return fmt.Errorf("%w: a statement had failed, and its error was passed over: %w", txn.ErrRolledBack, err)
	}
	return fmt.Errorf("write events: %w", err)
}

// Ping implements store.Store.
func (s *Store) Ping(ctx context.Context) error {
	// Half of the time is for a connection of the pool, which may be dead.
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
		// On a cut connection lib/pq waits for the answer, whatever ctx is.
		defer context.AfterFunc(ctx, cut)()
	}
	var one int
	if err := conn.QueryRowContext(ctx, s.ping).Scan(&one); err != nil {
		return fmt.Errorf("ping: %w", err)
	}
	return nil
}

// Check implements store.Checker. It reads whole tables.
func (s *Store) Check(ctx context.Context) (store.Report, error) {
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return store.Report{}, fmt.Errorf("check: begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	return sqlstore.Check(ctx, tx, s.text.Checks)
}

// Close frees the store's prepared statements and, if it made them, its connections;
// after three seconds it cuts those that do not answer. It waits at most half a minute
// for calls that were abandoned without an answer; that takes time only on the caller's
// connections. Call it after everything that uses the store has ended; later calls do
// nothing more.
func (s *Store) Close() error {
	if s.connector != nil {
		defer time.AfterFunc(cancelTime, s.connector.cut).Stop()
	}
	var err error
	if !within(closeTimeout, func() {
		// This tells the server on each idle connection. If one does not answer, it goes on
		// until the driver gives the connection up, with pgx after five seconds.
		within(cancelTime, s.statements.Close)
		<-s.abandoned.Ended()
		if s.connector != nil || s.pool != nil {
			if err = s.db.Close(); errors.Is(err, net.ErrClosed) {
				err = nil // a connection was cut before, and is closed by that
			}
		}
	}) {
		return errors.New("postgres: close: a connection that was given up still waits for an answer")
	}
	return err
}

// within reports whether f returned in time; if not, f goes on beside the caller.
func within(d time.Duration, f func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
