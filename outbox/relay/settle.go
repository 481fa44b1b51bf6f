package relay

import (
	"context"
	"errors"
	"fmt"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/intake"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

// settlement is what a round changes in the outbox.
type settlement struct {
	deletes []int64
	holds   []outbox.Hold
	// left is the lowest ready row that stays where it stands; 0 if none does.
	left int64
	// why says of each parked row, in the order of holds, why the sink refuses it.
	why []dlq.Failure
	// heldLeft says that held rows that could be published stay.
	heldLeft bool
}

func (s *settlement) empty() bool { return len(s.deletes) == 0 && len(s.holds) == 0 }

// settlement decides what becomes of each row.
func (b *batch) settlement() *settlement {
	s := &settlement{}
	items := b.round.items
	for i := range items {
		it := &items[i]
		switch {
		case it.state == confirmed:
			s.deletes = append(s.deletes, it.row.RowID)
		case it.state == blocked:
			s.holds = append(s.holds, holdBehind(b.blocks, it.row))
		case it.state == refused && b.round.counts(it):
			s.holds = append(s.holds, b.putOff(it, s))
			b.holdFollowers(items, it, s)
		}
	}
	for i := range items {
		if it := &items[i]; it.state == left || it.state == refused && !b.round.counts(it) {
			if it.held != "" {
				s.heldLeft = true
			} else if s.left == 0 || it.row.RowID < s.left {
				s.left = it.row.RowID
			}
		}
	}
	return s
}

// holdBehind holds a ready row of an order that has held rows. One that comes before
// them, because its transaction committed late, is due at once: nothing is ahead
// of it.
func holdBehind(blocks map[outbox.Order]int64, r *outbox.Row) outbox.Hold {
	order := outbox.Order{Topic: r.Event.Topic, Key: r.Event.OrderKey}
	if r.RowID < blocks[order] {
		blocks[order] = r.RowID
		return outbox.Hold{Row: *r, Reason: outbox.Backoff}
	}
	return outbox.Hold{Row: *r, Reason: outbox.Behind}
}

// putOff holds a refused row until it is tried again, or parks it.
func (b *batch) putOff(it *item, s *settlement) outbox.Hold {
	f := describe(it.err)
	h := outbox.Hold{
		Row:      *it.row,
		Reason:   outbox.Backoff,
		Attempts: it.row.Attempts + 1,
		Error:    encode.Text(f.Error, maxError),
	}
	if h.Attempts >= b.o.MaxAttempts {
		if it.sure {
			h.Reason = outbox.Parked
			s.why = append(s.why, f)
			return h
		}
		h.Attempts = b.o.MaxAttempts - 1
	}
	h.Delay = b.o.Backoff.Delay(h.Attempts, it.row.Event.ID)
	if it.held == outbox.Delayed {
		h.Reason = outbox.Delayed // it stands outside of the order
	}
	return h
}

// holdFollowers holds the rows that come after it in its order.
func (b *batch) holdFollowers(items []item, it *item, s *settlement) {
	for n := it.next; n > 0; n = items[n].next {
		f := &items[n]
		f.state = waiting
		// Those that stand Behind stay there.
		if f.held == outbox.Behind {
			continue
		}
		s.holds = append(s.holds, outbox.Hold{Row: *f.row, Reason: outbox.Behind, Attempts: f.row.Attempts})
	}
}

// settle records s and commits. The rows are published again where it fails.
func (b *batch) settle(ctx context.Context, t *txn.Txn, s *settlement) error {
	o := b.store.Outbox()
	// In this order, so that Delete finds the rows that come behind the deleted ones.
	if len(s.holds) > 0 {
		if err := o.Hold(ctx, t, s.holds); err != nil {
			return fmt.Errorf("hold refused rows: %w", err)
		}
		if err := b.alertParked(ctx, t, s.holds); err != nil {
			return err
		}
	}
	messages, taking, err := b.handOver(ctx, t, s)
	if err != nil {
		return err
	}
	if len(s.deletes) > 0 {
		if err := o.Delete(ctx, t, b.shard, s.deletes); err != nil {
			return fmt.Errorf("delete published rows: %w", err)
		}
	}
	if err := b.store.Commit(ctx, t, taking.Copies); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	b.wake(messages, taking)
	return nil
}

// alertParked appends an alert for each row that is parked.
func (b *batch) alertParked(ctx context.Context, t *txn.Txn, holds []outbox.Hold) error {
	var list []alerts.Alert
	for i := range holds {
		if holds[i].Reason == outbox.Parked {
			list = append(list, alerts.Alert{Kind: alerts.RowParked, Topic: holds[i].Row.Event.Topic})
		}
	}
	rows := b.store.Operations().Alerts
	if rows == nil || len(list) == 0 {
		return nil
	}
	if err := rows.Append(ctx, t, list); err != nil {
		return fmt.Errorf("write the alerts of parked rows: %w", err)
	}
	return nil
}

// handOver gives the rows that the sink has confirmed to their routes as well.
func (b *batch) handOver(ctx context.Context, t *txn.Txn, s *settlement) (messages []intake.Message, taking intake.Taking, err error) {
	if len(b.table.sinks) == 0 {
		return nil, taking, nil
	}
	items := b.round.items
	for i := range items {
		if it := &items[i]; it.state == confirmed && b.table.sinks[it.row.Event.Topic] {
			messages = append(messages, b.table.messages(it.row)...)
		}
	}
	waiting := *b.intake
	waiting.LockTimeout = 0 // it waits, since a rollback would have all of it published again
	taking, err = waiting.Take(ctx, t, messages)
	if err == nil && taking.Busy {
		err = errors.New("a key is held elsewhere")
	}
	if err != nil {
		return nil, taking, fmt.Errorf("hand over published rows: %w", err)
	}
	return messages, taking, nil
}

// tellParked tells of the parked rows: the log without the sink's words, the hook with.
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
			"error_type", f.Type, "error_print", f.Print)
		b.o.OnParked(Parked{
			RowID: h.Row.RowID, EventID: e.ID, Topic: e.Topic, OrderKey: e.OrderKey, Attempts: h.Attempts, Error: h.Error,
		})
	}
}
