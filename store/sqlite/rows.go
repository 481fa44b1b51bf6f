package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// dialect implements sqlrun.Driver.
type dialect struct{ *Store }

func (d dialect) Reader() sqlrun.Reader { return d.read }

// CommitOne implements sqlrun.Driver.
func (d dialect) CommitOne(ctx context.Context, query string, args ...any) (n int, err error) {
	err = store.Transact(ctx, d, func(t *txn.Txn) error {
		n, err = sqlrun.Affected(t.ExecContext(ctx, query, args...))
		return err
	})
	return n, err
}

// Many returns a JSON array of the values of one column, or of an array for each row.
func (dialect) Many(columns ...any) []any {
	if len(columns) == 1 {
		return []any{array(values(columns[0]))}
	}
	return []any{array(rowsOf(columns))}
}

// Each returns the arguments of a statement for each row. They run in this process, and no
// payload needs another encoding.
func (dialect) Each(columns ...any) [][]any {
	rows := rowsOf(columns)
	for i := range rows {
		rows[i] = append(rows[i], len(rows)-1-i)
	}
	return rows
}

// rowsOf turns columns into rows.
func rowsOf(columns []any) [][]any {
	rows := make([][]any, len(values(columns[0])))
	for _, column := range columns {
		for n, value := range values(column) {
			rows[n] = append(rows[n], value)
		}
	}
	return rows
}

// values returns the elements of a slice.
func values(column any) []any {
	v := reflect.ValueOf(column)
	all := make([]any, v.Len())
	for i := range all {
		all[i] = v.Index(i).Interface()
	}
	return all
}

// array returns v as JSON.
func array(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("sqlite: " + err.Error()) // texts and numbers always have a JSON form
	}
	return string(b)
}

func (d dialect) Draw(ctx context.Context, t *txn.Txn, sequence string, n int) error {
	var last int64
	if err := t.QueryRowContext(ctx, d.take, sequence, n).Scan(&last); err != nil {
		return fmt.Errorf("take ids: %w", err)
	}
	return nil
}

func (dialect) Time(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}
