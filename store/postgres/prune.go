package postgres

import (
	"context"
	"fmt"
	"strconv"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/sqlops"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/store/txn"
)

// pruneStore implements inbox.Pruner.
type pruneStore struct {
	*sqlops.Rounds
	sql struct{ Messages, Letters string }
}

// pruneStretch is how many pages of the inbox one statement reads at most (4 MiB).
const pruneStretch = 512

// place is the position of a row in the heap.
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
	defer sqlrun.Wrap("prune messages", &err)
	from, err := parsePlace(r.From)
	if err != nil {
		return inbox.Pruned{}, err
	}
	end := place{page: from.page + pruneStretch}
	var last string
	var pages int64
	args := []any{from.String(), end.String(), sqlrun.Micros(r.Window), sqlrun.ScopesOf(r.Consumer), r.Limit}
	switch err = p.scan(ctx, p.sql.Messages, args, &done.Messages, &last, &pages); {
	case err != nil:
		return inbox.Pruned{}, err
	case done.Messages >= int64(r.Limit):
		done.Next = last
	case end.page < pages:
		done.Next = end.String()
	}
	return done, nil
}

// Letters implements inbox.Pruner.
func (p *pruneStore) Letters(ctx context.Context, r inbox.PruneRequest) (done inbox.Pruned, err error) {
	defer sqlrun.Wrap("prune letters", &err)
	from, err := sqlops.LetterAfter(r.From)
	if err != nil {
		return inbox.Pruned{}, err
	}
	var last int64
	args := []any{from, r.Consumer, sqlrun.Micros(r.DeadLetters), sqlrun.Micros(r.OpenLetters), r.Limit, sqlrun.Micros(r.Window)}
	if err := p.scan(ctx, p.sql.Letters, args, &done.Letters, &done.Messages, &last); err != nil {
		return inbox.Pruned{}, err
	}
	if done.Letters >= int64(r.Limit) {
		done.Next = strconv.FormatInt(last, 10)
	}
	return done, nil
}

// scan runs a statement for one row in its own transaction. If the answer to COMMIT is
// lost, the caller asks for the batch again, which finds the rest.
func (p *pruneStore) scan(ctx context.Context, query string, args []any, into ...any) error {
	return p.Transact(ctx, func(t *txn.Txn) error { return t.QueryRowContext(ctx, query, args...).Scan(into...) })
}
