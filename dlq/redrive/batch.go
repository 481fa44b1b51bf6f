package redrive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/internal/sleep"
	"github.com/headrace/headrace/store/txn"
)

// maxTries bounds how often a batch runs that loses against other transactions.
const maxTries = 5

// batch is one transaction of a mover, in its own goroutine.
type batch struct {
	*mover
	f     dlq.Filter
	after int64
	limit int
	// earlier are the batches that were in flight when this one started.
	earlier []*batch

	read  chan []int64  // the ids that the filter chose, in order, once
	told  bool          // read was sent
	ended chan struct{} // closed when the fields below are set

	taken   []dlq.Letter // the letters that were moved
	skips   []Skip
	unknown int // letters in a commit whose outcome could not be read
	err     error
}

// start starts a batch. The caller waits for it (mover.wait).
func (m *mover) start(ctx context.Context, f dlq.Filter, after int64, limit int, earlier []*batch) *batch {
	b := &batch{
		mover: m, f: f, after: after, limit: limit, earlier: slices.Clone(earlier),
		read: make(chan []int64, 1), ended: make(chan struct{}),
	}
	go func() {
		defer close(b.ended)
		defer close(b.read)
		b.err = b.run(ctx)
		b.earlier = nil // or all batches would be kept in memory
	}()
	return b
}

// run runs the transaction, and repeats it if that is safe and may help.
func (b *batch) run(ctx context.Context) error {
	for try := 1; ; try++ {
		b.taken, b.skips = nil, nil
		err := b.once(ctx)
		if errors.Is(err, txn.ErrCommitUnknown) {
			err = b.readAgain(ctx, err)
		}
		if err == nil {
			return nil
		}
		class := txn.Classify(err)
		if try == maxTries || class != txn.Serialization && class != txn.LockTimeout && !errors.Is(err, errNotCommitted) {
			return err
		}
		if !sleep.For(ctx, time.Duration(try)*10*time.Millisecond) {
			return context.Cause(ctx)
		}
	}
}

// once runs one transaction: take letters, apply, write the audit rows, commit.
func (b *batch) once(ctx context.Context) error {
	t, err := b.Admin.st.Begin(ctx)
	if err != nil {
		return err
	}
	defer t.Rollback()
	b.taken, b.skips, err = b.take(ctx, t, b.f, b.after, b.limit, b.look)
	if err != nil || len(b.taken) == 0 {
		return err
	}
	if err := b.record(ctx, t, b.taken); err != nil {
		return err
	}
	commit, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.storeTimeout)
	defer cancel()
	if err := b.Admin.st.Commit(commit, t, nil); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// look tells which letters were taken, once, and waits for earlier batches.
func (b *batch) look(letters []dlq.Letter) ([]Skip, error) {
	if !b.told { // the first take
		b.told = true
		b.read <- without(letters, nil).IDs
	}
	return nil, b.waitForEarlier(letters)
}

// waitForEarlier waits for the earlier batches if any letter is strict: in the backlog it
// must go behind theirs.
func (b *batch) waitForEarlier(letters []dlq.Letter) error {
	if !slices.ContainsFunc(letters, func(l dlq.Letter) bool { return l.Strict && l.Delivery.OrderKey != "" }) {
		return nil
	}
	for _, earlier := range b.earlier {
		<-earlier.ended
		if earlier.err != nil {
			return fmt.Errorf("an earlier batch: %w", earlier.err)
		}
	}
	return nil
}

// errNotCommitted says that a commit with unknown outcome did not happen.
var errNotCommitted = errors.New("not committed")

// readAgain returns nil if the batch was committed although its commit returned cause, an
// unknown outcome. The audit row of that time says so: a letter may have been redriven
// before, and opened again.
func (b *batch) readAgain(ctx context.Context, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.storeTimeout)
	defer cancel()
	for {
		trail, err := b.Admin.st.Letters().Trail(ctx, b.taken[0].LetterID)
		if err == nil {
			if slices.ContainsFunc(trail, func(row dlq.Audit) bool {
				return !row.At.Before(b.taken[0].ChangedAt) && row.Action == b.audit.Action && row.By == b.audit.By && row.Reason == b.audit.Reason
			}) {
				return nil
			}
			return fmt.Errorf("%w: %w", errNotCommitted, cause)
		}
		if !sleep.For(ctx, 200*time.Millisecond) {
			b.unknown = len(b.taken)
			return errors.Join(cause, fmt.Errorf("read it again: %w", err))
		}
	}
}
