package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/sqlfile"
)

// pruneStore implements inbox.Pruner. Its statements are rare, and planned anew.
type pruneStore struct {
	s *Store

	messages, countMessages string
	letters, countLetters   string
	due, take, keep         string
}

var _ inbox.Pruner = (*pruneStore)(nil)

func newPrune(s *Store, queries map[string]string) *pruneStore {
	return &pruneStore{
		s:             s,
		messages:      sqlfile.Get(queries, "prune_messages"),
		countMessages: sqlfile.Get(queries, "prune_count_messages"),
		letters:       sqlfile.Get(queries, "prune_letters"),
		countLetters:  sqlfile.Get(queries, "prune_count_letters"),
		due:           sqlfile.Get(queries, "prune_due"),
		take:          sqlfile.Get(queries, "prune_take"),
		keep:          sqlfile.Get(queries, "prune_keep"),
	}
}

// pruneStretch is how many pages of the inbox one statement reads at the most (4 MiB).
const pruneStretch = 512

// place is a row's in the heap.
type place struct{ page, row int64 }

func (p place) String() string { return fmt.Sprintf("(%d,%d)", p.page, p.row) }

func parsePlace(s string) (p place, err error) {
	if s == "" {
		return place{}, nil
	}
	if _, err := fmt.Sscanf(s, "(%d,%d)", &p.page, &p.row); err != nil {
		return place{}, fmt.Errorf("%q is no place in the inbox: %w", s, err)
	}
	return p, nil
}

// Messages implements inbox.Pruner.
func (p *pruneStore) Messages(ctx context.Context, r inbox.PruneRequest) (done inbox.Pruned, err error) {
	from, err := parsePlace(r.From)
	if err != nil {
		return inbox.Pruned{}, fmt.Errorf("prune messages: %w", err)
	}
	end := place{page: from.page + pruneStretch}
	var last string
	var pages int64
	err = p.scan(ctx, p.messages, []any{from.String(), end.String(), r.Window.Microseconds(), scopes(r.Consumer), r.Limit},
		&done.Messages, &last, &pages)
	switch {
	case err != nil:
		return inbox.Pruned{}, fmt.Errorf("prune messages: %w", err)
	case done.Messages >= int64(r.Limit):
		done.Next = last
	case end.page < pages:
		done.Next = end.String()
	}
	return done, nil
}

// Letters implements inbox.Pruner.
func (p *pruneStore) Letters(ctx context.Context, r inbox.PruneRequest) (done inbox.Pruned, err error) {
	from := int64(0)
	if r.From != "" {
		if from, err = strconv.ParseInt(r.From, 10, 64); err != nil {
			return inbox.Pruned{}, fmt.Errorf("prune letters: %w", err)
		}
	}
	var last int64
	err = p.scan(ctx, p.letters, []any{from, r.Consumer, r.DeadLetters.Microseconds(), r.OpenLetters.Microseconds(), r.Limit},
		&done.Letters, &done.Messages, &last)
	if err != nil {
		return inbox.Pruned{}, fmt.Errorf("prune letters: %w", err)
	}
	if done.Letters >= int64(r.Limit) {
		done.Next = strconv.FormatInt(last, 10)
	}
	return done, nil
}

// scan runs a statement for one row in a transaction of its own. Where the answer to
// COMMIT is lost the batch is asked for again, and finds what is left.
func (p *pruneStore) scan(ctx context.Context, query string, args []any, into ...any) error {
	t, err := p.s.Begin(ctx)
	if err != nil {
		return err
	}
	defer t.Rollback()
	if err := p.s.plan.on(t.SQL()).QueryRowContext(ctx, query, args...).Scan(into...); err != nil {
		return err
	}
	return p.s.Commit(ctx, t, nil)
}

// Count implements inbox.Pruner.
func (p *pruneStore) Count(ctx context.Context, r inbox.PruneRequest) (inbox.Pruned, error) {
	var found inbox.Pruned
	q := p.s.plan.on(p.s.db)
	if err := q.QueryRowContext(ctx, p.countMessages, r.Window.Microseconds(), scopes(r.Consumer)).Scan(&found.Messages); err != nil {
		return found, fmt.Errorf("count old messages: %w", err)
	}
	lost := int64(0)
	err := q.QueryRowContext(ctx, p.countLetters, r.Consumer, r.DeadLetters.Microseconds(), r.OpenLetters.Microseconds(),
		r.Window.Microseconds(), scopes(r.Consumer)).Scan(&found.Letters, &lost)
	if err != nil {
		return found, fmt.Errorf("count old letters: %w", err)
	}
	found.Messages += lost
	return found, nil
}

// Take implements inbox.Pruner.
func (p *pruneStore) Take(ctx context.Context, consumer string, lease time.Duration) (position string, due bool, err error) {
	q := p.s.plan.on(p.s.db)
	if err := q.QueryRowContext(ctx, p.due, consumer).Scan(&due); err != nil || !due {
		return "", false, wrapped("is pruning due", err)
	}
	err = p.scan(ctx, p.take, []any{consumer, lease.Microseconds()}, &position)
	if errors.Is(err, sql.ErrNoRows) { // somebody was faster
		return "", false, nil
	}
	return position, err == nil, wrapped("begin to prune", err)
}

// Keep implements inbox.Pruner.
func (p *pruneStore) Keep(ctx context.Context, consumer, position string, rest time.Duration) error {
	_, err := p.s.plan.on(p.s.db).ExecContext(ctx, p.keep, consumer, position, rest.Microseconds())
	return wrapped("note how far pruning has come", err)
}

func wrapped(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// scopes is what the scopes of a consumer start with; "" for all.
func scopes(consumer string) string {
	if consumer == "" {
		return ""
	}
	return consumer + "/"
}
