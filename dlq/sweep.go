package dlq

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/store/txn"
)

// A batch is one transaction. Its size follows the size of the payloads, since a
// letter is read whole.
const (
	firstBatch = 10
	maxBatch   = 500
	batchBytes = 16 << 20
)

// maxTries bounds how often a batch runs again that lost against another transaction.
const maxTries = 5

// sweep moves the open letters of a request to another state, batch by batch.
type sweep struct {
	st       Deps
	patience time.Duration
	to       State
	// audit is the row to write for each letter, without its id.
	audit Audit
	limit int
	// apply does what follows from the move, in its transaction. Letters that it
	// refuses stay open: the batch is then undone and done again without them.
	apply    func(ctx context.Context, t *txn.Txn, letters []Letter) (refused []Skip, err error)
	progress func(done int)

	// newest is the highest id that there was at the start. Letters above it are
	// what became of this very redrive, and would be sent round and round.
	newest  int64
	size    int
	done    int
	unknown int
	skipped int
	skips   []Skip
}

// run works through f. Its error is a *PartialError.
func (s *sweep) run(ctx context.Context, f Filter) error {
	s.size = firstBatch
	s.audit.By, s.audit.Reason = encode.Text(s.audit.By, maxAudit), encode.Text(s.audit.Reason, maxAudit)
	if err := s.bound(ctx, f); err != nil {
		return s.partial(ctx, err)
	}
	for _, part := range f.parts() {
		if err := s.part(ctx, part); err != nil {
			return s.partial(ctx, err)
		}
	}
	return nil
}

func (s *sweep) partial(ctx context.Context, err error) error {
	// A driver may have its own words for a statement that was cancelled.
	if ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return &PartialError{Done: s.done, Unknown: s.unknown, Err: err}
}

// bound finds the newest letter that there is now.
func (s *sweep) bound(ctx context.Context, f Filter) error {
	if f.IDs != nil {
		s.newest = math.MaxInt64
		return nil
	}
	newest, err := s.st.Letters().List(ctx, f, 0, 1)
	if err != nil {
		return fmt.Errorf("find the newest letter: %w", err)
	}
	if len(newest) > 0 {
		s.newest = newest[0].LetterID
	}
	return nil
}

// part works through one filter. While batches are applied and committed, the letters
// of the next one are taken already.
func (s *sweep) part(ctx context.Context, f Filter) (err error) {
	seen := make(map[int64]bool, len(f.IDs))
	var air []*flight
	for after, more := int64(0), true; more && after < s.newest; {
		size := s.next(air)
		if size == 0 && len(air) == 0 {
			return nil
		}
		keep := maxFlights - 1
		if size > 0 {
			b := s.start(ctx, f, after, size, air)
			air = append(air, b)
			read := b.letters()
			for _, id := range read {
				seen[id], after = true, id
			}
			more = len(read) == size
		}
		if size == 0 || s.done == 0 { // the first batch shows how large the next may be
			keep = 0
		}
		if air, err = s.land(air, keep); err != nil {
			return err
		}
	}
	if _, err := s.land(air, 0); err != nil {
		return err
	}
	for _, id := range f.IDs {
		if !seen[id] {
			s.skip(Skip{LetterID: id, Why: "there is no open letter of that id, or another decision on it is under way"})
		}
	}
	return nil
}

// next is how many letters to take next, while those of air are under way; 0 where the
// limit allows none.
func (s *sweep) next(air []*flight) int {
	if s.limit == 0 {
		return s.size
	}
	left := s.limit - s.done
	for _, fl := range air {
		left -= fl.limit
	}
	return min(s.size, max(left, 0))
}

// finish counts a batch that is committed.
func (s *sweep) finish(b batch) {
	for _, skip := range b.skips {
		s.skip(skip)
	}
	if len(b.taken) == 0 {
		return
	}
	s.done += len(b.taken)
	s.size = min(maxBatch, max(1, batchBytes*len(b.taken)/(b.bytes+1)))
	if s.progress != nil {
		s.progress(s.done)
	}
}

func (s *sweep) skip(skip Skip) {
	if skip.LetterID > s.newest {
		return
	}
	s.skipped++
	if len(s.skips) < maxSkips {
		s.skips = append(s.skips, skip)
	}
}

// batch runs one transaction, again where that is safe and may help.
func (s *sweep) batch(ctx context.Context, f Filter, after int64, fl *flight) (batch, error) {
	for try := 1; ; try++ {
		b, err := s.once(ctx, f, after, fl)
		if errors.Is(err, txn.ErrCommitUnknown) {
			var committed bool
			committed, err = s.committed(ctx, &b, err)
			if committed {
				return b, nil
			}
		}
		if err == nil {
			return b, nil
		}
		class := txn.Classify(err)
		if try == maxTries || class != txn.Serialization && class != txn.LockTimeout && !errors.Is(err, errNotCommitted) {
			return b, err
		}
		if err := wait(ctx, time.Duration(try)*10*time.Millisecond); err != nil {
			return b, err
		}
	}
}

// errNotCommitted says that a commit with unknown outcome did not happen.
var errNotCommitted = errors.New("not committed")

// committed reads again whether b was committed after cause. A letter leaves the
// open state once, so its audit row says who moved it.
func (s *sweep) committed(ctx context.Context, b *batch, cause error) (bool, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.patience)
	defer cancel()
	for {
		trail, err := s.st.Letters().Trail(ctx, b.taken[0].LetterID)
		if err == nil {
			for _, row := range trail {
				if row.Action == s.audit.Action && row.By == s.audit.By && row.Reason == s.audit.Reason {
					return true, nil
				}
			}
			return false, fmt.Errorf("%w: %w", errNotCommitted, cause)
		}
		if wait(ctx, 200*time.Millisecond) != nil {
			b.unknown = len(b.taken)
			return false, errors.Join(cause, fmt.Errorf("read it again: %w", err))
		}
	}
}

// wait waits for d, or less where ctx ends.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
