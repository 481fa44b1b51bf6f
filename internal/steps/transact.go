package steps

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// conflictPause is the pause after a transaction that lost against another one.
const conflictPause = 10 * time.Millisecond

// newCallID names a call.
func newCallID() string { return rand.Text() }

// pause is how long to wait after an error of our own statements.
func (s *Session) pause(err error) time.Duration {
	if txn.Classify(err).Conflict() {
		return conflictPause
	}
	return s.Failed(err)
}

// fenced runs f in a transaction under the lock of the lease, and reports whether f has
// changed something. The error matches ledger.ErrLost if the lease is lost, and
// txn.ErrCommitUnknown if it is not known whether the change is committed.
func (s *Session) fenced(ctx context.Context, f func(ctx context.Context, t *txn.Txn) (bool, error)) (changed bool, err error) {
	err = s.until(ctx, func(ctx context.Context) error {
		return store.Transact(ctx, s.Store, func(t *txn.Txn) error {
			held, err := s.Leases.Fence(ctx, t, s.m.Lease, txn.Limits{Idle: s.StoreTimeout})
			if err != nil {
				return err
			}
			if !held {
				return ledger.ErrLost
			}
			changed, err = f(ctx, t)
			return err
		})
	}, ledger.ErrLost, txn.ErrCommitUnknown)
	return changed, err
}

// write runs f in a transaction of its own, whoever holds the lease, until it is committed
// or the process should end. It reports whether f has changed something; with
// txn.ErrCommitUnknown nobody knows.
func (s *Session) write(f func(ctx context.Context, t *txn.Txn) (bool, error)) (changed bool, err error) {
	once := func(ctx context.Context) error {
		return store.Transact(ctx, s.Store, func(t *txn.Txn) error {
			changed, err = f(ctx, t)
			return err
		})
	}
	err = s.until(s.Cancelled, once, txn.ErrCommitUnknown)
	if err != nil && s.Cancelled.Err() != nil { // the consumer stops: once more
		ctx, cancel := context.WithTimeout(context.WithoutCancel(s.Cancelled), s.StoreTimeout)
		defer cancel()
		err = once(ctx)
	}
	return changed, err
}

// settle records what came of a call, if the row is still that of the call. If it cannot be
// written, the row stays pending: the outcome is unknown.
func (s *Session) settle(end ledger.Row) error {
	_, err := s.write(func(ctx context.Context, t *txn.Txn) (bool, error) { return s.Steps.RecordOutcome(ctx, t, end) })
	return err
}
