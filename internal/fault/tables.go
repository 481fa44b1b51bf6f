package fault

import (
	"context"
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

type inboxStore struct {
	inbox.Store
	w *wrapped
}

func (s inboxStore) Claim(ctx context.Context, t *txn.Txn, r inbox.ClaimRequest) ([]inbox.Claimed, error) {
	claimed, err := s.Store.Claim(ctx, t, r)
	if err != nil {
		return nil, err
	}
	for _, c := range claimed {
		if c.Result == inbox.Won {
			s.w.kinds.add(t, work)
			return claimed, s.w.at.reach(AfterClaim)
		}
	}
	return claimed, nil
}

func (s inboxStore) Transition(ctx context.Context, t *txn.Txn, ids []inbox.ID, from, to inbox.State) ([]inbox.ID, error) {
	moved, err := s.Store.Transition(ctx, t, ids, from, to)
	if err != nil || from != inbox.Waiting || to != inbox.Done || len(moved) == 0 {
		return moved, err
	}
	s.w.kinds.add(t, work)
	return moved, s.w.at.reach(AfterClaim)
}

type leases struct {
	backlog.Leases
	w *wrapped
}

func (l leases) Claim(ctx context.Context, t *txn.Txn, consumer, handler, token string, term time.Duration, limit int) ([]backlog.Item, error) {
	items, err := l.Leases.Claim(ctx, t, consumer, handler, token, term, limit)
	if err != nil || len(items) == 0 {
		return items, err
	}
	return items, l.w.at.reach(AfterClaim)
}

type outboxStore struct {
	store.Outbox
	w *wrapped
}

// Line implements store.Outbox.
func (o outboxStore) Line(name string) store.Outbox { return outboxStore{o.Outbox.Line(name), o.w} }

// singleWriter is an outboxStore whose store is an outbox.SingleWriter.
type singleWriter struct{ outboxStore }

func (singleWriter) SingleWriter() {}

func (o outboxStore) LockShard(ctx context.Context, t *txn.Txn, shard int, idle time.Duration) (bool, error) {
	o.w.kinds.add(t, relaying)
	return o.Outbox.LockShard(ctx, t, shard, idle)
}

func (o outboxStore) Read(ctx context.Context, t *txn.Txn, shard int, after int64, limit int) ([]outbox.Row, error) {
	rows, err := o.Outbox.Read(ctx, t, shard, after, limit)
	if err != nil || len(rows) == 0 {
		return rows, err
	}
	return rows, o.w.at.reach(RelaySelected)
}

func (o outboxStore) Delete(ctx context.Context, t *txn.Txn, shard int, rows []int64) error {
	if len(rows) > 0 {
		o.w.kinds.add(t, relaying)
		if err := o.w.at.reach(RelayDeleting); err != nil {
			return err
		}
	}
	return o.Outbox.Delete(ctx, t, shard, rows)
}

type letters struct {
	dlq.Store
	w *wrapped
}

func (s letters) Insert(ctx context.Context, t *txn.Txn, list []dlq.Letter) ([]dlq.Inserted, error) {
	s.w.kinds.add(t, letter)
	return s.Store.Insert(ctx, t, list)
}

func (s letters) Reopen(ctx context.Context, t *txn.Txn, l dlq.Letter) (inbox.Claim, bool, error) {
	s.w.kinds.add(t, letter)
	return s.Store.Reopen(ctx, t, l)
}

func (s letters) Take(ctx context.Context, t *txn.Txn, f dlq.Filter, to dlq.State, after int64, limit int) ([]dlq.Letter, error) {
	taken, err := s.Store.Take(ctx, t, f, to, after, limit)
	if to == dlq.Redriven && len(taken) > 0 {
		s.w.kinds.add(t, redrive)
	}
	return taken, err
}
