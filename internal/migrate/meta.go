package migrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/headrace/headrace/internal/sqlfile"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/store"
)

// Meta reads the table headrace_meta of a schema.
type Meta struct {
	schema string
	sql    struct{ HasTable, Read string }
}

// NewMeta returns the statements for a schema.
func NewMeta(statements sqlfile.Set, schema string) *Meta {
	m := &Meta{schema: schema}
	statements.Fill("meta", &m.sql)
	return m
}

// Read returns the row; zero if there are no tables, and that of another pre-release if there are
// some, but no row.
func (m *Meta) Read(ctx context.Context, q sqlrun.Reader) (row store.Meta, err error) {
	defer sqlrun.Wrap("read headrace_meta", &err)
	there, err := m.has(ctx, q, "headrace_meta")
	if err == nil && there {
		row, err = Scan(q.QueryRowContext(ctx, m.sql.Read))
	}
	if err != nil && !errors.Is(err, sql.ErrNoRows) || row.Version > 0 {
		return row, err
	}
	if there, err = m.has(ctx, q, "headrace_inbox"); there {
		row = store.Meta{Version: 1, ReadableFrom: 1}
	}
	return row, err
}

func (m *Meta) has(ctx context.Context, q sqlrun.Reader, table string) (there bool, err error) {
	err = q.QueryRowContext(ctx, m.sql.HasTable, m.schema, table).Scan(&there)
	return there, err
}

// Scan reads the row from the result of the statement meta_read.
func Scan(result interface{ Scan(...any) error }) (row store.Meta, err error) {
	err = result.Scan(&row.ID, &row.Version, &row.ReadableFrom, &row.Fingerprint)
	return row, err
}

// Run runs a script on q, a transaction unless the script is concurrent. args make the
// driver send several statements at once.
func (m *Meta) Run(ctx context.Context, q sqlrun.Querier, s Script, args ...any) error {
	for _, statements := range s.parts() {
		if _, err := q.ExecContext(ctx, statements, args...); err != nil {
			return fmt.Errorf("run: %w", err)
		}
	}
	row, err := m.Read(ctx, q)
	if err == nil && row.Version != s.Version {
		err = errors.New("the script does not set its version in headrace_meta")
	}
	return err
}
