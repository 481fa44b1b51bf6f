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
	t, err := b.st.Begin(ctx)
	if err != nil {
		return err
	}
	defer t.Rollback()
	if err := b.take(ctx, t); err != nil || len(b.taken) == 0 {
		return err
	}
	rows := make([]dlq.Audit, 0, len(b.taken))
	for _, l := range b.taken {
		row := b.audit
		row.LetterID = l.LetterID
		rows = append(rows, row)
	}
	if err := b.st.Letters().Record(ctx, t, rows); err != nil {
		return fmt.Errorf("write the audit trail: %w", err)
	}
	commit, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.storeTimeout)
	defer cancel()
	if err := b.st.Commit(commit, t, nil); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// take moves letters and calls apply. If apply refuses some, take goes back to the
// savepoint and takes the rest again, until none is refused.
func (b *batch) take(ctx context.Context, t *txn.Txn) error {
	f := b.f
	before := t.Savepoint("headrace_letters")
	for {
		if err := before.Set(ctx); err != nil {
			return fmt.Errorf("set a savepoint: %w", err)
		}
		letters, err := b.st.Letters().Take(ctx, t, f, b.to, b.after, b.limit)
		if err != nil {
			return fmt.Errorf("take letters: %w", err)
		}
		if !b.told { // the first take
			b.told = true
			b.read <- without(letters, nil).IDs
		}
		if err := b.waitForEarlier(letters); err != nil {
			return err
		}
		refused, err := b.refuse(ctx, t, letters)
		if err != nil {
			return err
		}
		if len(refused) == 0 {
			b.taken = letters
			return before.Release(ctx)
		}
		if err = before.RollbackTo(ctx); err == nil {
			err = before.Release(ctx)
		}
		if err != nil {
			return fmt.Errorf("leave letters open: %w", err)
		}
		b.skips = append(b.skips, refused...)
		if f = without(letters, refused); len(f.IDs) == 0 {
			return nil
		}
	}
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

// refuse calls apply, unless some letters were written after the start: it refuses those.
func (b *batch) refuse(ctx context.Context, t *txn.Txn, letters []dlq.Letter) ([]Skip, error) {
	var late []Skip
	for _, l := range letters {
		if l.LetterID > b.newest {
			late = append(late, Skip{LetterID: l.LetterID})
		}
	}
	if len(late) > 0 || len(letters) == 0 {
		return late, nil
	}
	return b.apply(b.mover, ctx, t, letters)
}

// without returns a filter of the ids of letters without the refused ones.
func without(letters []dlq.Letter, refused []Skip) (f dlq.Filter) {
	for _, l := range letters {
		if !slices.ContainsFunc(refused, func(s Skip) bool { return s.LetterID == l.LetterID }) {
			f.IDs = append(f.IDs, l.LetterID)
		}
	}
	return f
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
		trail, err := b.st.Letters().Trail(ctx, b.taken[0].LetterID)
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
