package outcome

import (
	"context"
	"fmt"
	"slices"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/store/txn"
)

// leave deletes the backlog rows of messages that ended, and keeps the order of strict
// keys: it blocks the rows that a failed message held back, and releases the rows that
// were blocked behind one that ended.
func (r *Recorder) leave(ctx context.Context, t *txn.Txn, b Batch) error {
	var ended []*task.Task
	waits := make(map[backlog.OrderKey]bool) // order keys with a failed message of the batch that waits
	for _, f := range b.Failed {
		key, strict := f.Task.StrictKey()
		switch {
		case f.Task.Item == nil, f.Kind == HeldBack:
		case f.Outcome != task.Waiting:
			ended = append(ended, f.Task)
		case strict:
			waits[key] = true
		}
	}
	for _, tasks := range [][]*task.Task{b.Applied, b.Gone} {
		for _, one := range tasks {
			if one.Item != nil {
				ended = append(ended, one)
			}
		}
	}
	store := r.Store.Backlog()
	if len(ended) > 0 {
		if err := store.Delete(ctx, t, RowIDs(ended)); err != nil {
			return fmt.Errorf("leave the backlog: %w", err)
		}
	}
	held := slices.DeleteFunc(Held(b.Failed), func(one *task.Task) bool { key, _ := one.StrictKey(); return !waits[key] })
	if len(held) > 0 {
		if _, err := store.Order.Block(ctx, t, RowIDs(held)); err != nil {
			return fmt.Errorf("block what comes after a failed message: %w", err)
		}
	}
	for limit, keys := range release(ended, waits) {
		if err := store.Order.Release(ctx, t, keys, limit); err != nil {
			return fmt.Errorf("release the order key: %w", err)
		}
	}
	return nil
}

// Held returns the tasks that were held back behind a failed message of their strict order
// key.
func Held(failures []*Failure) (tasks []*task.Task) {
	for _, f := range failures {
		if f.Kind == HeldBack {
			tasks = append(tasks, f.Task)
		}
	}
	return tasks
}

// RowIDs returns the ids of the tasks' backlog rows.
func RowIDs(tasks []*task.Task) []int64 {
	ids := make([]int64, len(tasks))
	for i, t := range tasks {
		ids[i] = t.Item.RowID
	}
	return ids
}

// release returns the order keys to release after messages that ended, by how many rows of
// each. After a leased row that is one: the others would be blocked again behind it.
func release(ended []*task.Task, waits map[backlog.OrderKey]bool) map[int][]backlog.OrderKey {
	keys := make(map[int][]backlog.OrderKey)
	seen := make(map[backlog.OrderKey]bool)
	for _, t := range ended {
		key, strict := t.StrictKey()
		followed := t.Item.Followed || t.Token != "" // for a lease it is unknown
		if !strict || !followed || waits[key] || seen[key] {
			continue
		}
		seen[key] = true
		limit := releaseLimit
		if t.Token != "" {
			limit = 1
		}
		keys[limit] = append(keys[limit], key)
	}
	return keys
}
