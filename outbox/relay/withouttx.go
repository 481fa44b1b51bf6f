package relay

import (
	"context"

	"github.com/headrace/headrace/internal/outboxread"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

// again opens the transaction that records a run that published outside of one. It has
// the whole database to itself, and takes no lock. Another process may have published or
// held the same rows meanwhile. Rows that are gone are not held, and no row becomes
// Behind without a held row before it.
func (b *batch) again(ctx context.Context, s *settlement) (t *txn.Txn, err error) {
	if t, err = b.reader.Begin(ctx); err != nil || len(s.holds) == 0 {
		return t, err
	}
	// There can only be fewer rows now below those of the batch, so reading as many as it
	// held returns all of them that are still ready.
	now, err := b.reader.ReadHeld(ctx, t, b.request(), b.Limit)
	if err == nil {
		err = b.reader.ReadReady(ctx, t, b.request(), now, len(b.Ready))
	}
	if err != nil {
		outboxread.End(t, err)
		return nil, err
	}
	s.holds = still(now, s.holds)
	return t, nil
}

// still returns those of holds whose rows are in now, which was read again. Within an
// order, holds are sorted by RowID.
func still(now *outboxread.Batch, holds []outbox.Hold) []outbox.Hold {
	rows := make(map[int64]bool, len(now.Held)+len(now.Ready))
	for i := range now.Held {
		rows[now.Held[i].RowID] = true
	}
	for i := range now.Ready {
		rows[now.Ready[i].RowID] = true
	}
	kept := holds[:0]
	for _, h := range holds {
		if !rows[h.Row.RowID] {
			continue
		}
		order := outboxread.OrderOf(&h.Row)
		first, held := now.Blocks[order]
		if !held || h.Row.RowID <= first { // nothing is ahead of it
			if h.Reason == outbox.Behind {
				h.Reason, h.Delay = outbox.Backoff, 0
			}
			if h.Reason != outbox.Delayed && order.Key != "" {
				now.Blocks[order] = h.Row.RowID
			}
		}
		kept = append(kept, h)
	}
	return kept
}
