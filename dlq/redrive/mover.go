package redrive

import (
	"context"
	"errors"
	"fmt"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/search"
	"github.com/headrace/headrace/store/txn"
)

// A batch is one transaction. Its size depends on the size of the payloads, since letters
// that are redriven are read completely, and written again: that takes several times batchBytes
// for each batch in flight.
const (
	firstBatch = 10
	maxBatch   = 500
	batchBytes = 512 << 10
)

// maxInFlight is how many batches run at a time: one takes letters, the others apply and
// commit.
const maxInFlight = 3

// mover moves the open letters of a request to another state, batch by batch.
type mover struct {
	*Admin
	change
	r Request

	size    int // letters of the next batch
	unknown int
	Result
}

func (a *Admin) move(ctx context.Context, action string, to dlq.State, r Request,
	apply func(*change, context.Context, *txn.Txn, []dlq.Letter) ([]Skip, error),
) (Result, error) {
	err := r.check(to)
	if err != nil {
		return Result{}, wrap(action, err)
	}
	m := &mover{Admin: a, change: change{st: a.st, to: to, audit: auditOf(action, r.By, r.Reason), apply: apply, items: Items, newKey: r.NewKey, openCalls: r.OpenCalls}, r: r, size: firstBatch}
	if r.NewKey != "" {
		m.audit.Detail = underNewKey(r.NewKey)
	}
	if err = m.run(ctx); err != nil {
		// A driver may return an error of its own for a statement that was cancelled.
		if ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
			err = fmt.Errorf("%w: %w", ctx.Err(), err)
		}
		err = &PartialError{Done: m.Done, Unknown: m.unknown, Err: err}
	}
	return m.Result, wrap(action, err)
}

func (m *mover) run(ctx context.Context) error {
	f := m.r.Filter
	if f.IDs == nil {
		return m.chosen(ctx, f)
	}
	for _, part := range parts(f) {
		if err := m.part(ctx, part, nil); err != nil {
			return err
		}
	}
	return nil
}

// chosen moves the letters that a filter chooses. They are found as a list of them is, and
// then taken by their ids.
func (m *mover) chosen(ctx context.Context, f dlq.Filter) error {
	walk, err := search.NewOldestNow(ctx, m.Admin.st.Letters(), f)
	if err != nil {
		return fmt.Errorf("find letters: %w", err)
	}
	return m.part(ctx, f, walk)
}

// part moves the letters of a list of ids, or of a walk. While batches apply and commit, the
// next one takes its letters.
func (m *mover) part(ctx context.Context, f dlq.Filter, walk *search.Oldest) (err error) {
	seen := make(map[int64]bool, len(f.IDs))
	var inFlight []*batch
	for after, more := int64(0), true; more; {
		limit := m.next(inFlight)
		if limit == 0 && len(inFlight) == 0 {
			return nil
		}
		keep, some := maxInFlight-1, f
		if limit > 0 && walk != nil {
			if some.IDs, err = walk.Next(ctx, limit); err != nil {
				_, failed := m.wait(inFlight, 0)
				return errors.Join(failed, wrap("find letters", err))
			}
			more = len(some.IDs) == limit
		}
		if limit > 0 && len(some.IDs) > 0 {
			b := m.start(ctx, some, after, limit, inFlight)
			inFlight = append(inFlight, b)
			read := <-b.read
			if walk == nil {
				for _, id := range read {
					seen[id], after = true, id
				}
				more = len(read) == limit
			}
		}
		if limit == 0 || m.Done == 0 { // the first batch shows how large the next may be
			keep = 0
		}
		if inFlight, err = m.wait(inFlight, keep); err != nil {
			return err
		}
	}
	if _, err := m.wait(inFlight, 0); err != nil {
		return err
	}
	for _, id := range f.IDs {
		if !seen[id] {
			m.skip(Skip{LetterID: id, Why: "there is no open letter of that id, or another decision on it is under way"})
		}
	}
	return nil
}

// next is how many letters the next batch takes; 0 if batches in flight may use up the
// limit.
func (m *mover) next(inFlight []*batch) int {
	if m.r.Limit == 0 {
		return m.size
	}
	left := m.r.Limit - m.Done
	for _, b := range inFlight {
		left -= b.limit
	}
	return min(m.size, max(left, 0))
}

// wait waits for the first batches, until keep are left, and counts their results. After
// an error it waits for all, and returns the first error.
func (m *mover) wait(inFlight []*batch, keep int) (_ []*batch, err error) {
	for len(inFlight) > keep {
		b := inFlight[0]
		inFlight = inFlight[1:]
		<-b.ended
		m.unknown += b.unknown
		if b.err == nil {
			m.count(b)
		} else if err == nil {
			err, keep = b.err, 0
		}
	}
	return inFlight, err
}

// count adds the result of a committed batch.
func (m *mover) count(b *batch) {
	for _, skip := range b.skips {
		m.skip(skip)
	}
	if len(b.taken) == 0 {
		return
	}
	m.Done += len(b.taken)
	bytes := 0
	for _, l := range b.taken {
		bytes += len(l.Delivery.Payload) + len(l.Stack)
	}
	m.size = min(maxBatch, max(1, batchBytes*len(b.taken)/(bytes+1)))
	if m.r.Progress != nil {
		m.r.Progress(m.Done)
	}
}

func (m *mover) skip(skip Skip) {
	m.Skipped++
	if len(m.Skips) < maxSkips {
		m.Skips = append(m.Skips, skip)
	}
}
