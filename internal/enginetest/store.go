package enginetest

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// Store is a store that fails on command. Everything else is the real store.
type Store struct {
	store.Store
	// Begins and Commits count transactions, and Down has the store not answer.
	Begins, Commits atomic.Int64
	Down            atomic.Bool
	// OnCommit is called before each commit; may be nil. Set it before use.
	OnCommit func(t *txn.Txn)

	mu     sync.Mutex
	before []error // of the next commits; nil is none
	after  []error
}

// ErrLost is a lost connection.
var ErrLost = fmt.Errorf("no database: %w", io.ErrUnexpectedEOF)

// Refuse has the next n commits not happen, with err.
func (s *Store) Refuse(n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range n {
		s.before = append(s.before, err)
	}
}

// Swallow has the next n commits happen, and not be answered.
func (s *Store) Swallow(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range n {
		s.after = append(s.after, fmt.Errorf("%w: %w", txn.ErrCommitUnknown, io.ErrUnexpectedEOF))
	}
}

// Lose has the next n commits not happen, and not be answered.
func (s *Store) Lose(n int) {
	s.Refuse(n, fmt.Errorf("%w: %w", txn.ErrCommitUnknown, io.ErrUnexpectedEOF))
}

// Begin implements store.Store.
func (s *Store) Begin(ctx context.Context) (*txn.Txn, error) {
	if s.Down.Load() {
		return nil, ErrLost
	}
	s.Begins.Add(1)
	return s.Store.Begin(ctx)
}

// Ping implements store.Store.
func (s *Store) Ping(ctx context.Context) error {
	if s.Down.Load() {
		return ErrLost
	}
	return s.Store.Ping(ctx)
}

// Commit implements store.Store.
func (s *Store) Commit(ctx context.Context, t *txn.Txn, events []outbox.Row) error {
	s.Commits.Add(1)
	if s.OnCommit != nil {
		s.OnCommit(t)
	}
	if err := s.next(&s.before); err != nil {
		t.Rollback()
		return err
	}
	if err := s.Store.Commit(ctx, t, events); err != nil {
		return err
	}
	return s.next(&s.after)
}

// Operations implements store.Store. The changes of steps are commits of their own.
func (s *Store) Operations() store.Operations {
	o := s.Store.Operations()
	o.Steps = StepCommits{o.Steps, s.alone}
	return o
}

// alone is Commit for a statement with a commit of its own.
func (s *Store) alone(f func() (bool, error)) (bool, error) {
	if s.Down.Load() {
		return false, ErrLost
	}
	s.Commits.Add(1)
	if err := s.next(&s.before); err != nil {
		return false, err
	}
	changed, err := f()
	if err == nil {
		err = s.next(&s.after)
	}
	return changed && err == nil, err
}

// StepCommits calls Around with each change of a step, which is a commit.
type StepCommits struct {
	ledger.Store
	Around func(f func() (bool, error)) (bool, error)
}

// Mark implements ledger.Store.
func (s StepCommits) Mark(ctx context.Context, l backlog.Lease, r ledger.Row) (bool, error) {
	return s.Around(func() (bool, error) { return s.Store.Mark(ctx, l, r) })
}

// Repeat implements ledger.Store.
func (s StepCommits) Repeat(ctx context.Context, l backlog.Lease, was, r ledger.Row) (bool, error) {
	return s.Around(func() (bool, error) { return s.Store.Repeat(ctx, l, was, r) })
}

// RecordDone implements ledger.Store.
func (s StepCommits) RecordDone(ctx context.Context, r ledger.Row) (bool, error) {
	return s.Around(func() (bool, error) { return s.Store.RecordDone(ctx, r) })
}

// RecordOutcome implements ledger.Store.
func (s StepCommits) RecordOutcome(ctx context.Context, l backlog.Lease, r ledger.Row) (bool, error) {
	return s.Around(func() (bool, error) { return s.Store.RecordOutcome(ctx, l, r) })
}

// RecordDouble implements ledger.Store.
func (s StepCommits) RecordDouble(ctx context.Context, r ledger.Row) (bool, error) {
	return s.Around(func() (bool, error) { return s.Store.RecordDouble(ctx, r) })
}

func (s *Store) next(errs *[]error) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(*errs) > 0 {
		err, *errs = (*errs)[0], (*errs)[1:]
	}
	return err
}
