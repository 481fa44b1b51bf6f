package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/sqlstore"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// Store is a SQLite file. It is safe for concurrent use. It implements
// store.Store, store.Migrator and store.Checker.
type Store struct {
	path string
	mode string // how connections open it
	gate *gate
	busy time.Duration

	work *sql.DB // the store's transactions
	user *sql.DB // returned by DB
	read *sql.DB // the store's reads outside of a transaction

	statements *txn.Statements
	abandoned  txn.Abandoned
	closing    sync.Once
	closed     error
	before     fs.FileInfo // see unchanged

	text    sqlstore.Text
	history history
	ping    string
	alive   string
	take    string // ids of a sequence
	tables
}

// tables has the methods of store.Store that return tables.
type tables = sqlstore.Tables

var (
	_ store.Store         = (*Store)(nil)
	_ store.Migrator      = (*Store)(nil)
	_ store.Checker       = (*Store)(nil)
	_ outbox.SingleWriter = (*outboxStore)(nil)
)

// DB returns a pool on the same file for the user's own tables: reads, migrations, and
// transactions that call outbox.Publish. It belongs to the store, which closes it.
// BeginTx is BEGIN IMMEDIATE and takes its turn among the store's own transactions; it
// waits until its context ends, or for BusyTimeout if that has no deadline. With
// sql.TxOptions.ReadOnly it is a snapshot and does not wait.
//
// database/sql does not bound the pool: see sql.DB.SetMaxOpenConns.
func (s *Store) DB() *sql.DB { return s.user }

// Begin implements store.Store. It waits for earlier transactions of this process until
// ctx ends. Then it waits for those of other processes, until ctx ends or, if it has no
// deadline, for BusyTimeout. If a wait takes too long, the error has the class
// txn.LockTimeout.
func (s *Store) Begin(ctx context.Context) (*txn.Txn, error) {
	t, err := s.gate.enter(ctx)
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	tx, err := txn.Begin(withEntry(ctx, t), s.work, txn.Options{
		Statements: s.statements,
		Alive:      s.alive,
		RolledBack: isEnded,
		Kill:       killOf,
		Begins:     true,
		Abandoned:  &s.abandoned,
		TryCommit:  tryCommit,
	})
	if err != nil {
		t.leave(false) // in case it failed before BEGIN
		return nil, err
	}
	return tx, nil
}

// commitTimeout bounds COMMIT and the statements before it. After it the outcome is
// unknown.
const commitTimeout = 30 * time.Second

// Commit implements store.Store. Only Commit can commit t: see tx.
func (s *Store) Commit(ctx context.Context, t *txn.Txn, events []outbox.Row) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	err := s.Outbox().Insert(ctx, t, events)
	if err2 := allowCommit(t); err2 != nil {
		err = err2
	}
	if err == nil {
		return t.Commit(ctx)
	}
	t.Rollback()
	if isEnded(err) && !errors.Is(err, inbox.ErrSwitched) {
		return fmt.Errorf("commit: %w: %w", txn.ErrRolledBack, err)
	}
	return fmt.Errorf("commit: %w", err)
}

// Ping implements store.Store.
func (s *Store) Ping(ctx context.Context) error {
	var tables int
	if err := s.read.QueryRowContext(ctx, s.ping).Scan(&tables); err != nil {
		return fmt.Errorf("ping: %w", err)
	}
	return nil
}

// readOnly makes BeginTx take a snapshot.
var readOnly = &sql.TxOptions{ReadOnly: true}

// Check implements store.Checker. It blocks no writer; while it runs, SQLite cannot move
// its log back into the file.
func (s *Store) Check(ctx context.Context) (store.Report, error) {
	tx, err := s.read.BeginTx(ctx, readOnly)
	if err != nil {
		return store.Report{}, fmt.Errorf("check: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	return sqlstore.Check(ctx, tx, s.text.Checks)
}

// Close closes the file. Open transactions continue until they end; Close waits for
// discarded ones, for BusyTimeout at most. A second call returns the error of the first.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.statements.Close()
		err := s.awaitAbandoned()
		s.closed = errors.Join(err, s.work.Close(), s.user.Close(), s.read.Close(), s.unchanged())
		s.gate.close()
	})
	return s.closed
}

func (s *Store) awaitAbandoned() error {
	timeout := time.NewTimer(s.busy)
	defer timeout.Stop()
	select {
	case <-s.abandoned.Ended():
		return nil
	case <-timeout.C:
		return errors.New("close: a discarded transaction is still held by its handler")
	}
}
