package relay

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

// again opens the transaction that records what was published outside of one. It
// has the whole database to itself, and takes no lock.
// Another process may have published or held the same rows meanwhile: what it has
// taken away is not held, and no row is left Behind nobody.
func (b *batch) again(ctx context.Context, s *settlement) (t *txn.Txn, err error) {
	t, err = begin(ctx, b.store, b.over)
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	if len(s.holds) == 0 {
		return t, nil
	}
	// Rows below those of the batch can only have become fewer, so that as many as it
	// held show all of it that still stands on the ready line.
	now := &batch{line: b.line, shard: b.shard, after: b.after, table: b.table}
	if err = now.readHeld(ctx, t, b.limit); err == nil && len(b.ready) > 0 {
		err = now.readReady(ctx, t, len(b.ready))
	}
	if err != nil {
		end(t, err)
		return nil, err
	}
	s.holds = now.standing(s.holds)
	return t, nil
}

// standing returns those of holds whose rows b has read; b has read the rows again.
// Of an order, holds stand by RowID.
func (b *batch) standing(holds []outbox.Hold) []outbox.Hold {
	rows := make(map[int64]bool, len(b.held)+len(b.ready))
	for i := range b.held {
		rows[b.held[i].RowID] = true
	}
	for i := range b.ready {
		rows[b.ready[i].RowID] = true
	}
	kept := holds[:0]
	for _, h := range holds {
		if !rows[h.Row.RowID] {
			continue
		}
		order := outbox.Order{Topic: h.Row.Event.Topic, Key: h.Row.Event.OrderKey}
		first, held := b.blocks[order]
		if !held || h.Row.RowID <= first { // nothing is ahead of it
			if h.Reason == outbox.Behind {
				h.Reason, h.Delay = outbox.Backoff, 0
			}
			if h.Reason != outbox.Delayed && order.Key != "" {
				b.blocks[order] = h.Row.RowID
			}
		}
		kept = append(kept, h)
	}
	return kept
}
