package sqlstore

import (
	"context"
	"errors"
	"slices"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/store/txn"
)

// Inbox implements inbox.Store except Claim, and inbox.Finder.
type Inbox struct {
	sqlrun.Table[struct {
		Transition, MarkStale, AddAttempts, Attempts, Find, Counts, Missing, Scopes string
	}]
}

func (s *Inbox) Transition(ctx context.Context, t *txn.Txn, ids []inbox.ID, from, to inbox.State) (moved []inbox.ID, err error) {
	defer sqlrun.Wrap("move messages to state "+string(to), &err)
	if len(ids) == 0 {
		return nil, nil
	}
	if err := identities(ids); err != nil {
		return nil, err
	}
	// The transaction's id comes with each moved message, and once if none moved.
	var id string
	type row struct{ scope, key *string }
	args := append(s.Many(sqlrun.IDs(ids)...), string(from), string(to))
	rows, err := sqlrun.Collect(ctx, t, s.SQL.Transition, args, func(r *row) []any { return []any{&id, &r.scope, &r.key} })
	if err != nil {
		return nil, err
	}
	if t.ID() == "" {
		t.SetID(id)
	}
	moved = make([]inbox.ID, 0, len(rows))
	for _, r := range rows {
		if r.key != nil {
			moved = append(moved, inbox.ID{Scope: *r.scope, Key: *r.key})
		}
	}
	return moved, nil
}

func identities(ids []inbox.ID) error {
	for _, id := range ids {
		if err := sqlrun.Identity(id.Scope, id.Key); err != nil {
			return err
		}
	}
	return nil
}

func (s *Inbox) MarkStale(ctx context.Context, t *txn.Txn, ids []inbox.ID) (err error) {
	defer sqlrun.Wrap("mark messages stale", &err)
	if len(ids) == 0 {
		return nil
	}
	if err := identities(ids); err != nil {
		return err
	}
	_, err = t.ExecContext(ctx, s.SQL.MarkStale, s.Many(sqlrun.IDs(ids)...)...)
	return err
}

// maxTaken is how often to retry after another transaction took a number.
const maxTaken = 100

func (s *Inbox) AddAttempts(ctx context.Context, t *txn.Txn, attempts []inbox.Attempt) (numbers []int, err error) {
	defer sqlrun.Wrap("add attempts", &err)
	given := make(map[inbox.ID]int, len(attempts))
	for _, a := range attempts {
		if err := sqlrun.Identity(a.Scope, a.Key); err != nil {
			return nil, err
		}
		if _, twice := given[a.ID]; twice {
			return nil, errors.New("two of one message")
		}
		given[a.ID] = 0
	}
	rest := attempts
	for try := 0; len(rest) > 0; try++ {
		if try == maxTaken {
			return nil, errors.New("other writers took the next numbers again and again")
		}
		added, err := sqlrun.Collect(ctx, t, s.SQL.AddAttempts, s.Many(attemptColumns(rest)...), func(a *inbox.Attempt) []any {
			return []any{&a.Scope, &a.Key, &a.N}
		})
		if err != nil {
			return nil, err
		}
		for _, a := range added {
			given[a.ID] = a.N
		}
		rest = slices.DeleteFunc(slices.Clone(rest), func(a inbox.Attempt) bool { return given[a.ID] > 0 })
	}
	return sqlrun.Column(attempts, func(a *inbox.Attempt) int { return given[a.ID] }), nil
}

func attemptColumns(attempts []inbox.Attempt) []any {
	return append(sqlrun.Attempts(attempts), sqlrun.Numbers(attempts, func(a *inbox.Attempt) int64 { return max(a.Ago, 0).Microseconds() }))
}

func (s *Inbox) Attempts(ctx context.Context, id inbox.ID) (list []inbox.Attempt, err error) {
	defer sqlrun.Wrap("read attempts", &err)
	return sqlrun.Collect(ctx, s.Reader(), s.SQL.Attempts, []any{id.Scope, id.Key}, func(a *inbox.Attempt) []any {
		a.ID = id
		return []any{&a.N, &a.Class, &a.Error, &a.ErrorType, (*sqlrun.Span)(&a.Duration), &a.Host, &a.Build, &a.Trace.Parent, &a.Trace.State, (*sqlrun.Instant)(&a.At)}
	})
}

func (s *Inbox) Find(ctx context.Context, key string) (entries []inbox.Entry, err error) {
	defer sqlrun.Wrap("find messages", &err)
	if !encode.Clean(key) {
		return nil, nil // no column holds such a key
	}
	return sqlrun.Collect(ctx, s.Reader(), s.SQL.Find, []any{key}, func(e *inbox.Entry) []any {
		w := &e.Wait
		return append(EntryFields(e), &w.Status, (*sqlrun.Instant)(&w.Due), (*sqlrun.Instant)(&w.Postponed), &w.Reason)
	})
}

// EntryFields returns the destinations of an inbox row's columns.
func EntryFields(e *inbox.Entry) []any {
	return []any{&e.Scope, &e.Key, &e.State, &e.Fingerprint, &e.Stale, (*sqlrun.Instant)(&e.At)}
}

func (s *Inbox) Counts(ctx context.Context, consumer string) (counts map[inbox.State]int64, err error) {
	defer sqlrun.Wrap("count messages", &err)
	type count struct {
		state inbox.State
		n     int64
	}
	rows, err := sqlrun.Collect(ctx, s.Reader(), s.SQL.Counts, []any{sqlrun.ScopesOf(consumer)}, func(c *count) []any { return []any{&c.state, &c.n} })
	if err != nil {
		return nil, err
	}
	counts = make(map[inbox.State]int64, len(rows))
	for _, c := range rows {
		counts[c.state] = c.n
	}
	return counts, nil
}

func (s *Inbox) Scopes(ctx context.Context) (scopes []string, err error) {
	defer sqlrun.Wrap("list scopes", &err)
	return sqlrun.Collect(ctx, s.Reader(), s.SQL.Scopes, nil, func(scope *string) []any { return []any{scope} })
}

func (s *Inbox) Missing(ctx context.Context, scope string, keys []string) (missing []string, err error) {
	defer sqlrun.Wrap("find missing messages", &err)
	asked := make([]string, 0, len(keys))
	for _, key := range keys {
		if encode.Clean(key) { // no row contains another
			asked = append(asked, key)
		}
	}
	if len(asked) == 0 || !encode.Clean(scope) {
		return slices.Clone(keys), nil
	}
	args := append([]any{scope}, s.Many(asked)...)
	missing, err = sqlrun.Collect(ctx, s.Reader(), s.SQL.Missing, args, func(key *string) []any { return []any{key} })
	if err != nil || len(asked) == len(keys) {
		return missing, err
	}
	known := make(map[string]bool, len(asked))
	for _, key := range asked {
		known[key] = true
	}
	for _, key := range missing {
		known[key] = false
	}
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return known[key] }), nil
}
