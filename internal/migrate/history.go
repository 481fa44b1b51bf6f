package migrate

import (
	"context"
	"fmt"
	"time"

	"github.com/headrace/headrace/internal/sqlfile"
	"github.com/headrace/headrace/internal/sqlrun"
)

// History is the table of applied scripts. Together with a lock, it is a Book.
type History struct {
	q      sqlrun.Querier
	schema string
	sql    struct{ HasTable, CreateTable, List, Record string }
}

// NewHistory returns the history of a schema, read through q.
func NewHistory(q sqlrun.Querier, statements sqlfile.Set, schema string) *History {
	h := &History{q: q, schema: schema}
	statements.Fill("migrations", &h.sql)
	return h
}

// Applied implements Book and Session.
func (h *History) Applied(ctx context.Context) ([]Applied, error) {
	if there, err := h.there(ctx); err != nil || !there {
		return nil, err
	}
	return sqlrun.Collect(ctx, h.q, h.sql.List, nil, func(a *Applied) []any {
		return []any{&a.Version, &a.Name, &a.Checksum, (*sqlrun.Instant)(&a.At)}
	})
}

func (h *History) there(ctx context.Context) (there bool, err error) {
	defer sqlrun.Wrap("look for the table of migrations", &err)
	err = h.q.QueryRowContext(ctx, h.sql.HasTable, h.schema).Scan(&there)
	return there, err
}

// On creates the table if necessary, and calls f with the history on q, a transaction
// that has the lock.
func (h History) On(ctx context.Context, q sqlrun.Querier, f func(Session) error) error {
	h.q = q
	there, err := h.there(ctx)
	if err != nil {
		return err
	}
	if !there {
		if _, err := q.ExecContext(ctx, h.sql.CreateTable); err != nil {
			return fmt.Errorf("create the table of migrations: %w", err)
		}
	}
	return f(&h)
}

// Apply implements Session.
func (h *History) Apply(ctx context.Context, m Script) (at time.Time, err error) {
	if _, err := h.q.ExecContext(ctx, m.SQL); err != nil {
		return at, fmt.Errorf("run: %w", err)
	}
	defer sqlrun.Wrap("record", &err)
	err = h.q.QueryRowContext(ctx, h.sql.Record, m.Version, m.Name, m.Checksum).Scan((*sqlrun.Instant)(&at))
	return at, err
}
