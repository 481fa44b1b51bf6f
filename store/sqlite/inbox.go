package sqlite

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/store/txn"
)

// inboxStore implements inbox.Store.
type inboxStore struct {
	s *Store

	claim, claimLost, record, transition, markStale string
	addAttempt, attempts, find, counts, missing     string
}

var _ inbox.Store = (*inboxStore)(nil)

func newInbox(s *Store, q queries) *inboxStore {
	return &inboxStore{
		s:          s,
		claim:      q.get("inbox_claim"),
		claimLost:  q.get("inbox_claim_lost"),
		record:     q.get("inbox_record"),
		transition: q.get("inbox_transition"),
		markStale:  q.get("inbox_mark_stale"),
		addAttempt: q.get("inbox_add_attempt"),
		attempts:   q.get("inbox_attempts"),
		find:       q.get("inbox_find"),
		counts:     q.get("inbox_counts"),
		missing:    q.get("inbox_missing"),
	}
}

// Record implements inbox.Store.
func (i *inboxStore) Record(ctx context.Context, t *txn.Txn, e inbox.Entry) (bool, error) {
	if err := identity(e.Scope, e.Key, e.Fingerprint); err != nil {
		return false, fmt.Errorf("record: %w", err)
	}
	result, err := t.ExecContext(ctx, i.record, e.Scope, e.Key, string(e.State), e.Fingerprint, e.Stale)
	if err != nil {
		return false, fmt.Errorf("record: %w", err)
	}
	n, err := result.RowsAffected()
	return n == 1, err
}

// Transition implements inbox.Store.
func (i *inboxStore) Transition(ctx context.Context, t *txn.Txn, ids []inbox.ID, from, to inbox.State) ([]inbox.ID, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	keys := make([][2]string, len(ids))
	for n, id := range ids {
		if err := identity(id.Scope, id.Key); err != nil {
			return nil, fmt.Errorf("transition to %s: %w", to, err)
		}
		keys[n] = [2]string{id.Scope, id.Key}
	}
	all, err := list(keys)
	if err != nil {
		return nil, err
	}
	moved, err := collect(ctx, t, i.transition, []any{all, string(from), string(to)}, readID)
	if err != nil {
		return nil, fmt.Errorf("transition to %s: %w", to, err)
	}
	return moved, nil
}

// MarkStale implements inbox.Store.
func (i *inboxStore) MarkStale(ctx context.Context, t *txn.Txn, id inbox.ID) error {
	if _, err := t.ExecContext(ctx, i.markStale, id.Scope, id.Key); err != nil {
		return fmt.Errorf("mark stale: %w", err)
	}
	return nil
}

// AddAttempt implements inbox.Store.
func (i *inboxStore) AddAttempt(ctx context.Context, t *txn.Txn, a inbox.Attempt) (int, error) {
	if err := identity(a.Scope, a.Key); err != nil {
		return 0, fmt.Errorf("add attempt: %w", err)
	}
	var n int
	err := t.QueryRowContext(ctx, i.addAttempt, a.Scope, a.Key, encode.Text(a.Class, maxName),
		encode.Text(a.Error, maxError), encode.Text(a.ErrorType, maxName), a.Duration.Microseconds(),
		encode.Text(a.Host, maxName), encode.Text(a.Build, maxName),
		encode.Text(a.Trace.Parent, maxTrace), encode.Text(a.Trace.State, maxTrace), max(a.Ago, 0).Microseconds()).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("add attempt: %w", err)
	}
	return n, nil
}

// Attempts implements inbox.Store.
func (i *inboxStore) Attempts(ctx context.Context, id inbox.ID) ([]inbox.Attempt, error) {
	all, err := collect(ctx, i.s.read, i.attempts, []any{id.Scope, id.Key}, func(row scanner) (inbox.Attempt, error) {
		a := inbox.Attempt{ID: id}
		err := row.Scan(&a.N, &a.Class, &a.Error, &a.ErrorType, (*span)(&a.Duration), &a.Host, &a.Build,
			&a.Trace.Parent, &a.Trace.State, (*micros)(&a.At))
		return a, err
	})
	if err != nil {
		return nil, fmt.Errorf("read attempts: %w", err)
	}
	return all, nil
}

// Find implements inbox.Store.
func (i *inboxStore) Find(ctx context.Context, key string) ([]inbox.Entry, error) {
	if !encode.Clean(key) {
		return nil, nil // no row holds such a key
	}
	entries, err := collect(ctx, i.s.read, i.find, []any{key}, readEntry)
	if err != nil {
		return nil, fmt.Errorf("find: %w", err)
	}
	return entries, nil
}

// Counts implements inbox.Store.
func (i *inboxStore) Counts(ctx context.Context, consumer string) (map[inbox.State]int64, error) {
	prefix := ""
	if consumer != "" {
		prefix = consumer + "/"
	}
	counts := make(map[inbox.State]int64)
	_, err := collect(ctx, i.s.read, i.counts, []any{prefix}, func(row scanner) (struct{}, error) {
		var state string
		var n int64
		err := row.Scan(&state, &n)
		counts[inbox.State(state)] = n
		return struct{}{}, err
	})
	if err != nil {
		return nil, fmt.Errorf("count: %w", err)
	}
	return counts, nil
}

func readID(row scanner) (inbox.ID, error) {
	var id inbox.ID
	err := row.Scan(&id.Scope, &id.Key)
	return id, err
}

func readEntry(row scanner) (inbox.Entry, error) {
	var e inbox.Entry
	err := row.Scan(&e.Scope, &e.Key, &e.State, &e.Fingerprint, &e.Stale, (*micros)(&e.At))
	return e, err
}
