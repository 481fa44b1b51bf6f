package migrate

import (
	"context"
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

// Read returns the row; zero if there is no table.
func (m *Meta) Read(ctx context.Context, q sqlrun.Reader) (row store.Meta, err error) {
	defer sqlrun.Wrap("read headrace_meta", &err)
	var there bool
	if err := q.QueryRowContext(ctx, m.sql.HasTable, m.schema).Scan(&there); err != nil || !there {
		return row, err
	}
	return Scan(q.QueryRowContext(ctx, m.sql.Read))
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
