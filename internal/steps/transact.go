package steps

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/headrace/headrace/backlog"
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

// fenced runs f, which changes something if the lease is still held, until it is committed
// or ctx ends, and reports whether it has. The error matches ledger.ErrLost if the lease
// is lost. Where a try had no answer, a later one finds its change, and reports false.
func (s *Session) fenced(ctx context.Context, f func(context.Context) (bool, error)) (changed bool, err error) {
	err = s.until(ctx, func(ctx context.Context) error {
		changed, err = f(ctx)
		return err
	})
	if err != nil || changed {
		return changed, err
	}
	return false, s.underLease(ctx, func(context.Context, *txn.Txn) error { return nil })
}

// underLease runs f in a transaction that has locked the lease, until it is committed or
// ctx ends; f may run again after a commit without an answer. The error matches
// ledger.ErrLost if the lease is lost.
func (s *Session) underLease(ctx context.Context, f func(context.Context, *txn.Txn) error) error {
	return s.until(ctx, func(ctx context.Context) error {
		return store.Transact(ctx, s.Store, func(t *txn.Txn) error {
			held, err := s.Leases.Fence(ctx, t, s.m.Lease, txn.Limits{Idle: s.StoreTimeout})
			if err != nil {
				return err
			}
			if !held {
				return ledger.ErrLost
			}
			return f(ctx, t)
		})
	}, ledger.ErrLost)
}

// change changes a row under the lease, and reads the rows anew, whether f has changed one or
// not. what is for its error.
func (s *Session) change(ctx context.Context, what string, f func(context.Context, *txn.Txn) (bool, error)) error {
	err := s.underLease(ctx, func(ctx context.Context, t *txn.Txn) error {
		_, err := f(ctx, t)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return s.again(ctx)
}

// write runs f, also without the lease, until it is committed or the process should end.
// It reports whether f has changed something, as fenced does.
func (s *Session) write(f func(context.Context) (bool, error)) (changed bool, err error) {
	once := func(ctx context.Context) error {
		changed, err = f(ctx)
		return err
	}
	err = s.until(s.Cancelled, once)
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
	_, err := s.write(func(ctx context.Context) (bool, error) { return s.Steps.RecordOutcome(ctx, backlog.Lease{}, end) })
	return err
}
