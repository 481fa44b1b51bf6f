package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/sqlfile"
	"github.com/headrace/headrace/store/txn"
)

// inboxStore implements inbox.Store.
//
// Its statements on the way of every message go through the transaction's cache of
// prepared statements. The others do not: their plans depend on how large a table
// is, and a plan that was made when it was empty would be kept for minutes.
type inboxStore struct {
	db     *sql.DB
	plan   planner
	direct *direct
	lately share // lost claims

	claim, claimBounded, claimLost string
	record, transition, markStale  string
	addAttempt, attempts           string
	find, counts, missing          string
}

func newInbox(db *sql.DB, plan planner, queries map[string]string) *inboxStore {
	return &inboxStore{
		db: db, plan: plan,
		claim:        sqlfile.Get(queries, "inbox_claim"),
		claimBounded: sqlfile.Get(queries, "inbox_claim_bounded"),
		claimLost:    sqlfile.Get(queries, "inbox_claim_lost"),
		record:       sqlfile.Get(queries, "inbox_record"),
		transition:   sqlfile.Get(queries, "inbox_transition"),
		markStale:    sqlfile.Get(queries, "inbox_mark_stale"),
		addAttempt:   sqlfile.Get(queries, "inbox_add_attempt"),
		attempts:     sqlfile.Get(queries, "inbox_attempts"),
		find:         sqlfile.Get(queries, "inbox_find"),
		counts:       sqlfile.Get(queries, "inbox_counts"),
		missing:      sqlfile.Get(queries, "inbox_missing"),
	}
}

// Record implements inbox.Store.
func (s *inboxStore) Record(ctx context.Context, t *txn.Txn, e inbox.Entry) (bool, error) {
	if err := identity(e.Scope, e.Key, e.Fingerprint); err != nil {
		return false, fmt.Errorf("record message: %w", err)
	}
	result, err := t.ExecContext(ctx, s.record, e.Scope, e.Key, string(e.State), e.Fingerprint, e.Stale)
	if err != nil {
		return false, fmt.Errorf("record message: %w", err)
	}
	n, err := result.RowsAffected()
	if err != nil {
		return false, fmt.Errorf("record message: %w", err)
	}
	return n == 1, nil
}

// Transition implements inbox.Store.
func (s *inboxStore) Transition(ctx context.Context, t *txn.Txn, ids []inbox.ID, from, to inbox.State) ([]inbox.ID, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	id, moved, err := s.touch(ctx, s.plan.on(t.SQL()), s.transition,
		column(ids, func(id *inbox.ID) string { return id.Scope }),
		column(ids, func(id *inbox.ID) string { return id.Key }),
		string(from), string(to))
	if err != nil {
		return nil, fmt.Errorf("move messages from %s to %s: %w", from, to, err)
	}
	if t.ID() == "" {
		t.SetID(id)
	}
	return moved, nil
}

// touch runs a statement that returns the id of the transaction, with the messages
// that it touched or once with none.
func (s *inboxStore) touch(ctx context.Context, q querier, query string, args ...any) (string, []inbox.ID, error) {
	type touched struct {
		txn        string
		scope, key sql.NullString
	}
	rows, err := collect(ctx, q, query, args, func(r *touched) []any { return []any{&r.txn, &r.scope, &r.key} })
	if err != nil {
		return "", nil, err
	}
	if len(rows) == 0 {
		return "", nil, fmt.Errorf("no answer: %w", sql.ErrNoRows)
	}
	ids := make([]inbox.ID, 0, len(rows))
	for _, r := range rows {
		if r.key.Valid {
			ids = append(ids, inbox.ID{Scope: r.scope.String, Key: r.key.String})
		}
	}
	return rows[0].txn, ids, nil
}

// MarkStale implements inbox.Store.
func (s *inboxStore) MarkStale(ctx context.Context, t *txn.Txn, id inbox.ID) error {
	if _, err := t.ExecContext(ctx, s.markStale, id.Scope, id.Key); err != nil {
		return fmt.Errorf("mark message stale: %w", err)
	}
	return nil
}

// AddAttempt implements inbox.Store.
func (s *inboxStore) AddAttempt(ctx context.Context, t *txn.Txn, a inbox.Attempt) (int, error) {
	if err := identity(a.Scope, a.Key); err != nil {
		return 0, fmt.Errorf("add attempt: %w", err)
	}
	n, err := 0, sql.ErrNoRows
	for try := 0; errors.Is(err, sql.ErrNoRows) && try < maxTaken; try++ {
		err = s.addOne(ctx, t, a).Scan(&n)
	}
	if err != nil {
		return 0, fmt.Errorf("add attempt: %w", err)
	}
	return n, nil
}

// maxTaken is how often a number that another transaction took is replaced.
const maxTaken = 100

func (s *inboxStore) addOne(ctx context.Context, t *txn.Txn, a inbox.Attempt) *sql.Row {
	return s.plan.on(t.SQL()).QueryRowContext(ctx, s.addAttempt, a.Scope, a.Key, encode.Text(a.Class, maxName),
		encode.Text(a.Error, maxError), encode.Text(a.ErrorType, maxName), a.Duration.Microseconds(),
		encode.Text(a.Host, maxName), encode.Text(a.Build, maxName),
		encode.Text(a.Trace.Parent, maxTrace), encode.Text(a.Trace.State, maxTrace), max(a.Ago, 0).Microseconds())
}

// Attempts implements inbox.Store.
func (s *inboxStore) Attempts(ctx context.Context, id inbox.ID) ([]inbox.Attempt, error) {
	type row struct {
		inbox.Attempt
		us int64
	}
	rows, err := collect(ctx, s.plan.on(s.db), s.attempts, []any{id.Scope, id.Key}, func(r *row) []any {
		return []any{&r.N, &r.Class, &r.Error, &r.ErrorType, &r.us, &r.Host, &r.Build, &r.Trace.Parent, &r.Trace.State, &r.At}
	})
	if err != nil {
		return nil, fmt.Errorf("read attempts: %w", err)
	}
	attempts := make([]inbox.Attempt, len(rows))
	for i, r := range rows {
		r.ID, r.Duration, r.At = id, fromMicros(r.us), r.At.UTC()
		attempts[i] = r.Attempt
	}
	return attempts, nil
}

// Find implements inbox.Store.
func (s *inboxStore) Find(ctx context.Context, key string) ([]inbox.Entry, error) {
	if !encode.Clean(key) {
		return nil, nil // no column holds such a key
	}
	entries, err := s.entries(ctx, s.plan.on(s.db), s.find, key)
	if err != nil {
		return nil, fmt.Errorf("find message: %w", err)
	}
	return entries, nil
}

func (s *inboxStore) entries(ctx context.Context, q querier, query string, args ...any) ([]inbox.Entry, error) {
	entries, err := collect(ctx, q, query, args, func(e *inbox.Entry) []any {
		return []any{&e.Scope, &e.Key, &e.State, &e.Fingerprint, &e.Stale, &e.At}
	})
	for i := range entries {
		entries[i].At = entries[i].At.UTC()
	}
	return entries, err
}

// Counts implements inbox.Store.
func (s *inboxStore) Counts(ctx context.Context, consumer string) (map[inbox.State]int64, error) {
	prefix := ""
	if consumer != "" {
		prefix = consumer + "/"
	}
	type count struct {
		state inbox.State
		n     int64
	}
	rows, err := collect(ctx, s.plan.on(s.db), s.counts, []any{prefix}, func(c *count) []any { return []any{&c.state, &c.n} })
	if err != nil {
		return nil, fmt.Errorf("count messages: %w", err)
	}
	counts := make(map[inbox.State]int64, len(rows))
	for _, c := range rows {
		counts[c.state] = c.n
	}
	return counts, nil
}
