package sqlite

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

// PollTopics implements outbox.Chooser.
func (o *outboxStore) PollTopics(ctx context.Context, marks []int64, topics outbox.Topics) (outbox.Poll, []int64, error) {
	var p outbox.Poll
	if err := checkMarks(marks, outbox.Shards); err != nil {
		return p, nil, fmt.Errorf("poll topics of the outbox: %w", err)
	}
	names, err := list(append([]string{}, topics.Names...))
	if err != nil {
		return p, nil, fmt.Errorf("poll topics of the outbox: %w", err)
	}
	tops, err := collect(ctx, o.s.read, o.pollTopics, []any{rowIDs(marks), names, topics.Except}, func(row scanner) (top int64, err error) {
		err = scanLook(row, &p, &top)
		return top, err
	})
	if err != nil {
		return outbox.Poll{}, nil, fmt.Errorf("poll topics of the outbox: %w", err)
	}
	return p, tops, nil
}

// ReadTopics implements outbox.Chooser.
func (o *outboxStore) ReadTopics(ctx context.Context, t *txn.Txn, shard int, after int64, limit int, topics outbox.Topics) ([]outbox.Row, error) {
	names, err := list(append([]string{}, topics.Names...))
	if err != nil {
		return nil, fmt.Errorf("read topics of the outbox: %w", err)
	}
	return readRows(ctx, t, shard, o.readTopics, shard, after, limit, names, topics.Except)
}

// ReadHeldTopics implements outbox.Chooser.
func (o *outboxStore) ReadHeldTopics(ctx context.Context, t *txn.Txn, shard int, limit int, topics outbox.Topics) ([]outbox.HeldRow, error) {
	names, err := list(append([]string{}, topics.Names...))
	if err != nil {
		return nil, fmt.Errorf("read topics of the outbox: %w", err)
	}
	return readHeldRows(ctx, t, shard, o.heldTopics, shard, limit, names, topics.Except)
}
