package redrive_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// faulty is a store whose commits end as fail says, from the first to the last of it;
// later ones are as they are.
type faulty struct {
	store.Store
	fail []func(commit, rollback func() error) error
}

func (f *faulty) Commit(ctx context.Context, t *txn.Txn, events []outbox.Row) error {
	commit := func() error { return f.Store.Commit(ctx, t, events) }
	if len(f.fail) == 0 {
		return commit()
	}
	fail := f.fail[0]
	f.fail = f.fail[1:]
	return fail(commit, func() error { t.Rollback(); return nil })
}

// serialization is an error that says 40001.
type serialization struct{}

func (serialization) Error() string    { return "could not serialize" }
func (serialization) SQLState() string { return "40001" }

func lostAnswer(commit, _ func() error) error {
	return errors.Join(txn.ErrCommitUnknown, commit())
}

func lostCommit(_, rollback func() error) error {
	return errors.Join(txn.ErrCommitUnknown, rollback())
}

func lostRace(_, rollback func() error) error {
	return errors.Join(txn.ErrRolledBack, serialization{}, rollback())
}

// DESIGN §3 COMMIT: a redrive whose commit has no answer is read again.
//
//evidence:unknown
func TestRedriveReadsAgain(t *testing.T) {
	onBoth(t, func(b *fixture) {
		b.dieMany(50)
		st := &faulty{Store: b.st, fail: []func(commit, rollback func() error) error{lostCommit, lostAnswer, lostRace, lostAnswer}}
		result, err := redrive.New(st).Redrive(b.ctx, everything)
		if err != nil || result.Done != 50 || result.Skipped != 0 {
			b.Errorf("%+v, %v", result, err)
		}
		if len(st.fail) != 0 || b.depth() != (backlog.Depth{Ready: 50}) {
			b.Errorf("%d faults left, %+v", len(st.fail), b.depth())
		}
	})
}

// Whatever is wrong for good ends the redrive, with what was done before in the error.
func TestRedriveEndsWithWhatItDid(t *testing.T) {
	onBoth(t, func(b *fixture) {
		b.dieMany(50)
		broken := errors.New("disk full")
		st := &faulty{Store: b.st, fail: []func(commit, rollback func() error) error{
			lostAnswer,
			func(_, rollback func() error) error { return errors.Join(txn.ErrRolledBack, broken, rollback()) },
		}}
		result, err := redrive.New(st).Redrive(b.ctx, everything)
		var partial *redrive.PartialError
		if !errors.As(err, &partial) || !errors.Is(err, broken) || partial.Done != 10 || result.Done != 10 {
			b.Errorf("%+v, %v", result, err)
		}
		b.check()
		b.redrive(everything, 40, 0)
	})
}

// A driver's own words for a cancelled statement do not hide that it was cancelled.
func TestRedriveSaysThatItWasCancelled(t *testing.T) {
	onBoth(t, func(b *fixture) {
		b.dieMany(5)
		ctx, cancel := context.WithCancel(b.ctx)
		broken := errors.New("canceling statement due to user request")
		st := &faulty{Store: b.st, fail: []func(commit, rollback func() error) error{
			func(_, rollback func() error) error { cancel(); return errors.Join(broken, rollback()) },
		}}
		if _, err := redrive.New(st).Redrive(ctx, everything); !errors.Is(err, context.Canceled) || !errors.Is(err, broken) {
			b.Error(err)
		}
	})
}

// cancelling is a store whose caller gives up just before a commit.
type cancelling struct {
	store.Store
	cancel context.CancelFunc
}

func (c cancelling) Commit(ctx context.Context, t *txn.Txn, events []outbox.Row) error {
	c.cancel()
	if err := ctx.Err(); err != nil {
		t.Rollback()
		return err
	}
	return c.Store.Commit(ctx, t, events)
}

// DESIGN §3 COMMIT: a commit that is under way does not end with the caller's context.
//
//evidence:own-context
func TestRedriveCommitsAlthoughCancelled(t *testing.T) {
	onBoth(t, func(b *fixture) {
		b.dieMany(20)
		ctx, cancel := context.WithCancel(b.ctx)
		result, err := redrive.New(cancelling{b.st, cancel}).Redrive(ctx, everything)
		if !errors.Is(err, context.Canceled) || result.Done != 10 {
			b.Errorf("%+v, %v", result, err)
		}
	})
}

// unreadable is a store that cannot be read after it lost the answer to a commit.
type unreadable struct{ *faulty }

func (u unreadable) Letters() dlq.Store { return noTrail{u.Store.Letters()} }

type noTrail struct{ dlq.Store }

func (noTrail) Trail(context.Context, int64) ([]dlq.Audit, error) {
	return nil, errors.New("connection refused")
}

// An unknown outcome is reported, and the same request can be repeated in each case.
//
//evidence:unknown
func TestRedriveWithUnknownOutcome(t *testing.T) {
	onBoth(t, func(b *fixture) {
		b.dieMany(30)
		st := &faulty{Store: b.st, fail: []func(commit, rollback func() error) error{
			func(commit, _ func() error) error { return commit() }, lostAnswer,
		}}
		admin := redrive.New(unreadable{st})
		admin.SetStoreTimeout(time.Second)
		result, err := admin.Redrive(b.ctx, everything)
		var partial *redrive.PartialError
		if !errors.As(err, &partial) || !errors.Is(err, txn.ErrCommitUnknown) || partial.Done != 10 || partial.Unknown != 20 {
			b.Errorf("%+v, %v", result, err)
		}
		b.redrive(everything, 0, 0)
		if b.depth() != (backlog.Depth{Ready: 30}) {
			b.Errorf("%+v", b.depth())
		}
	})
}
