package postgres

import (
	"context"
	"fmt"

	"github.com/lib/pq"

	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

// PollTopics implements outbox.Chooser.
func (s *outboxStore) PollTopics(ctx context.Context, marks []int64, topics outbox.Topics) (outbox.Poll, []int64, error) {
	if len(marks) != outbox.Shards {
		return outbox.Poll{}, nil, fmt.Errorf("poll topics of the outbox: %d marks for %d shards", len(marks), outbox.Shards)
	}
	args := []any{pq.Array(marks), names(topics), topics.Except}
	looks, err := collect(ctx, s.plan.on(s.db), s.pollTopics, args, func(l *look) []any {
		return []any{&l.shard, &l.work, &l.later, &l.top}
	})
	if err != nil {
		return outbox.Poll{}, nil, fmt.Errorf("poll topics of the outbox: %w", err)
	}
	tops := make([]int64, outbox.Shards)
	for _, l := range looks {
		tops[l.shard] = l.top
	}
	return pollOf(looks), tops, nil
}

// ReadTopics implements outbox.Chooser.
func (s *outboxStore) ReadTopics(ctx context.Context, t *txn.Txn, shard int, after int64, limit int, topics outbox.Topics) ([]outbox.Row, error) {
	l := line{of: fmt.Sprintf("%t %q", topics.Except, topics.Names), shard: shard}
	return s.readRows(ctx, t, l, after, limit, s.readTopics, names(topics), topics.Except)
}

// ReadHeldTopics implements outbox.Chooser.
func (s *outboxStore) ReadHeldTopics(ctx context.Context, t *txn.Txn, shard int, limit int, topics outbox.Topics) ([]outbox.HeldRow, error) {
	return s.readHeldRows(ctx, t, shard, s.heldTopics, shard, limit, names(topics), topics.Except)
}

// names is never NULL, of which nothing is known to be equal or not.
func names(topics outbox.Topics) any { return pq.Array(append([]string{}, topics.Names...)) }
