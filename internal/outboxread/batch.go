package outboxread

import "github.com/headrace/headrace/outbox"

// Batch is the rows read from a shard.
type Batch struct {
	Held  []outbox.HeldRow
	Ready []outbox.Row
	// Blocks has the first held row of each order that has one.
	Blocks map[outbox.Order]int64
	// Limit is the largest number of rows.
	Limit int
}

// Full reports whether there may be more rows.
func (b *Batch) Full() bool { return len(b.Held)+len(b.Ready) >= b.Limit }

// OrderOf returns the order of r.
func OrderOf(r *outbox.Row) outbox.Order {
	return outbox.Order{Topic: r.Event.Topic, Key: r.Event.OrderKey}
}

// HoldBehind holds a ready row of an order that has held rows. If it comes before them,
// because its transaction committed late, it is due at once.
func (b *Batch) HoldBehind(r *outbox.Row) outbox.Hold {
	order := OrderOf(r)
	if r.RowID < b.Blocks[order] {
		b.Blocks[order] = r.RowID
		return outbox.Hold{Row: *r, Reason: outbox.Backoff}
	}
	return outbox.Hold{Row: *r, Reason: outbox.Behind}
}
