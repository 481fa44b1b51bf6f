package consumertest

import (
	"context"

	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// clockOutbox notes the rows that the relay reads: the relay may publish them.
type clockOutbox struct {
	store.Outbox
	k *Kit
}

// clockSingle is a clockOutbox whose store is an outbox.SingleWriter.
type clockSingle struct{ clockOutbox }

func (clockSingle) SingleWriter() {}

func (c *clock) Outbox() store.Outbox {
	o := clockOutbox{c.Store.Outbox(), c.p.k}
	if _, ok := o.Outbox.(outbox.SingleWriter); ok {
		return clockSingle{o}
	}
	return o
}

func (o clockOutbox) Read(ctx context.Context, t *txn.Txn, shard int, after int64, limit int) ([]outbox.Row, error) {
	rows, err := o.Outbox.Read(ctx, t, shard, after, limit)
	o.note(rows)
	return rows, err
}

func (o clockOutbox) ReadHeld(ctx context.Context, t *txn.Txn, shard int, limit int) ([]outbox.HeldRow, error) {
	held, err := o.Outbox.ReadHeld(ctx, t, shard, limit)
	for i := range held {
		o.note([]outbox.Row{held[i].Row})
	}
	return held, err
}

func (o clockOutbox) note(rows []outbox.Row) {
	o.k.mu.Lock()
	defer o.k.mu.Unlock()
	for i := range rows {
		o.k.relayed[rows[i].Event.ID] = rows[i].Event.OrderKey
	}
}
