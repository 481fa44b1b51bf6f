package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// Store is a SQLite file. It is safe for concurrent use. It implements
// store.Store, store.Migrator and store.Checker.
type Store struct {
	path string
	gate *gate
	busy time.Duration

	work *sql.DB // the store's transactions
	user *sql.DB // what DB returns
	read *sql.DB // the store's reads outside of a transaction

	statements *txn.Statements
	abandoned  txn.Abandoned
	closing    sync.Once
	closed     error

	book    *book
	ping    string
	checks  []check
	inbox   *inboxStore
	backlog *backlogStore
	order   *orderStore
	leases  *leaseStore
	outbox  *outboxStore
	letters *letterStore
	signals *backlog.Signals
	alerts  *alertStore

	versions  *versionStore
	instances *instanceStore
	pauses    *pauseStore
	prune     *pruneStore
}

var (
	_ store.Store         = (*Store)(nil)
	_ store.Migrator      = (*Store)(nil)
	_ store.Checker       = (*Store)(nil)
	_ outbox.SingleWriter = (*outboxStore)(nil)
)

// DB returns a pool on the same file for the user's own tables: reads, migrations,
// and transactions that call outbox.Publish. It belongs to the store, which closes
// it. BeginTx is BEGIN IMMEDIATE and takes its turn among the store's own
// transactions, waiting until its context ends, or for BusyTimeout if that has no
// deadline; with sql.TxOptions.ReadOnly it is a snapshot that waits for nobody.
//
// database/sql does not bound the pool: see sql.DB.SetMaxOpenConns.
func (s *Store) DB() *sql.DB { return s.user }

// Begin implements store.Store. It waits for the transactions of this process that
// came before, until ctx ends, and then for those of other processes, until ctx
// ends or, if it has no deadline, for BusyTimeout. The error of a wait that took
// too long has the class txn.LockTimeout.
func (s *Store) Begin(ctx context.Context) (*txn.Txn, error) {
	t, err := s.gate.enter(ctx)
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	tx, err := txn.Begin(withEntry(ctx, t), s.work, txn.Options{
		Statements: s.statements,
		RolledBack: isEnded,
		Kill:       killOf,
		Begins:     true,
		Abandoned:  &s.abandoned,
	})
	if err != nil {
		t.leave(false) // where it did not come as far as BEGIN
		return nil, err
	}
	return tx, nil
}

// commitTimeout bounds COMMIT and the statements before it. Past it the outcome is
// unknown.
const commitTimeout = 30 * time.Second

// Commit implements store.Store. Nothing else can commit t: see tx.
func (s *Store) Commit(ctx context.Context, t *txn.Txn, events []outbox.Row) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	err := s.outbox.Insert(ctx, t, events)
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

// Close closes the file. Transactions that are open go on until they end; those
// that were discarded are waited for, for BusyTimeout at most. A second call
// returns what the first did.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.statements.Close()
		err := s.awaitAbandoned()
		s.closed = errors.Join(err, s.work.Close(), s.user.Close(), s.read.Close())
		s.gate.close()
	})
	return s.closed
}

func (s *Store) awaitAbandoned() error {
	patience := time.NewTimer(s.busy)
	defer patience.Stop()
	select {
	case <-s.abandoned.Ended():
		return nil
	case <-patience.C:
		return errors.New("close: a discarded transaction is still held by its handler")
	}
}
