package relay

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/publish"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

// settlement is the changes of a run to the outbox.
type settlement struct {
	deletes []int64
	holds   []outbox.Hold
	// left is the lowest ready row that stays ready; 0 if none does.
	left int64
	// why has the sink's error for each parked row, in the order of holds.
	why []dlq.Failure
	// heldLeft says that some held rows that could be published stay as they are.
	heldLeft bool
}

func (s *settlement) empty() bool { return len(s.deletes) == 0 && len(s.holds) == 0 }

// settlement decides the outcome of each row.
func (b *batch) settlement() *settlement {
	s := &settlement{}
	entries := b.run.Entries
	for i := range entries {
		e := &entries[i]
		switch {
		case e.State == publish.Confirmed:
			s.deletes = append(s.deletes, e.Row.RowID)
		case e.State == publish.Blocked:
			s.holds = append(s.holds, b.HoldBehind(e.Row))
		case e.State == publish.Refused && b.run.Counts(e):
			s.holds = append(s.holds, b.putOff(e, s))
			b.holdFollowers(e, s)
		}
	}
	for i := range entries {
		if e := &entries[i]; e.State == publish.Left || e.State == publish.Refused && !b.run.Counts(e) {
			if e.Held != "" {
				s.heldLeft = true
			} else if s.left == 0 || e.Row.RowID < s.left {
				s.left = e.Row.RowID
			}
		}
	}
	return s
}

// putOff holds a refused row until its next attempt, or parks it.
func (b *batch) putOff(e *publish.Entry, s *settlement) outbox.Hold {
	f := describe(e.Err, b.o.Redact)
	h := outbox.Hold{
		Row:      *e.Row,
		Reason:   outbox.Backoff,
		Attempts: e.Row.Attempts + 1,
		Error:    encode.Text(f.Error, maxError),
	}
	if h.Attempts >= b.o.MaxAttempts {
		if e.Sure {
			h.Reason = outbox.Parked
			s.why = append(s.why, f)
			return h
		}
		h.Attempts = b.o.MaxAttempts - 1
	}
	h.Delay = b.o.Backoff.Delay(h.Attempts, e.Row.Event.ID)
	if e.Held == outbox.Delayed {
		h.Reason = outbox.Delayed // it is outside of the order
	}
	return h
}

// holdFollowers holds the later rows of e's order.
func (b *batch) holdFollowers(e *publish.Entry, s *settlement) {
	entries := b.run.Entries
	for n := e.Next; n > 0; n = entries[n].Next {
		f := &entries[n]
		f.State = publish.Waiting
		if f.Held == outbox.Behind {
			continue // it is held already
		}
		s.holds = append(s.holds, outbox.Hold{Row: *f.Row, Reason: outbox.Behind, Attempts: f.Row.Attempts})
	}
}

// settle records s and commits. If that fails, the rows are published again.
func (b *batch) settle(ctx context.Context, t *txn.Txn, s *settlement) error {
	o := b.store.Outbox()
	// Hold runs before Delete, so that Delete finds the rows behind the deleted ones.
	if len(s.holds) > 0 {
		if err := o.Hold(ctx, t, s.holds); err != nil {
			return fmt.Errorf("hold refused rows: %w", err)
		}
	}
	if len(s.deletes) > 0 {
		if err := o.Delete(ctx, t, b.shard, s.deletes); err != nil {
			return fmt.Errorf("delete published rows: %w", err)
		}
	}
	if err := b.store.Commit(ctx, t, nil); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// tellParked reports the parked rows: to the log without the sink's error text, to the
// hook with it.
func (b *batch) tellParked(s *settlement) {
	why := s.why
	for i := range s.holds {
		h := &s.holds[i]
		if h.Reason != outbox.Parked {
			continue
		}
		e, f := &h.Row.Event, why[0]
		why = why[1:]
		b.o.Logger.Error("relay: a row is parked: the sink refuses it and takes others",
			"row", h.Row.RowID, "event", e.ID, "topic", e.Topic, "attempts", h.Attempts,
			"error_type", f.Type, "error_fingerprint", f.Fingerprint)
		b.o.OnParked(Parked{
			RowID: h.Row.RowID, EventID: e.ID, Topic: e.Topic, OrderKey: e.OrderKey, Attempts: h.Attempts, Error: h.Error,
		})
	}
}
