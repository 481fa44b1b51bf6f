package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/headrace/headrace/internal/encode"
)

// querier is what reads need: a pool or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// scanner is a row.
type scanner interface{ Scan(dest ...any) error }

// collect runs a query and returns its rows, read one by one.
func collect[T any](ctx context.Context, q querier, query string, args []any, read func(scanner) (T, error)) (all []T, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err2 := rows.Close(); err == nil {
			err = err2
		}
	}()
	for rows.Next() {
		one, err := read(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// micros is a time as it is stored: microseconds since 1970.
type micros time.Time

// Scan implements sql.Scanner.
func (m *micros) Scan(v any) error {
	us, ok := v.(int64)
	if !ok {
		return fmt.Errorf("a time is %T, not microseconds", v)
	}
	*m = micros(time.UnixMicro(us).UTC())
	return nil
}

// span is a duration as it is computed: microseconds, or nothing for 0.
type span time.Duration

// Scan implements sql.Scanner.
func (s *span) Scan(v any) error {
	switch us := v.(type) {
	case nil:
		*s = 0
	case int64:
		*s = span(time.Duration(us) * time.Microsecond)
	default:
		return fmt.Errorf("a duration is %T, not microseconds", v)
	}
	return nil
}

// whole is a BLOB. An empty one is not nil, and NULL is.
type whole []byte

// Scan implements sql.Scanner.
func (w *whole) Scan(v any) error {
	b, ok := v.([]byte)
	if !ok && v != nil {
		return fmt.Errorf("a payload is %T, not bytes", v)
	}
	if v == nil {
		*w = nil
		return nil
	}
	*w = append(make([]byte, 0, len(b)), b...)
	return nil
}

// blob is the argument for payload: nil would be NULL.
func blob(payload []byte) []byte {
	if payload == nil {
		return []byte{}
	}
	return payload
}

// us is the argument for a duration, rounded up so that a delay never becomes none.
func us(d time.Duration) int64 { return int64((d + time.Microsecond - 1) / time.Microsecond) }

// list is the argument for many values: a JSON array.
func list(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encode arguments: %w", err)
	}
	return string(b), nil
}

// rowIDs is the argument for many row ids.
func rowIDs(ids []int64) string {
	if len(ids) == 0 {
		return "[]"
	}
	b, _ := json.Marshal(ids) // integers always have a JSON form
	return string(b)
}

// The sizes of text that only people read.
const (
	maxError = 4 << 10
	maxStack = 16 << 10
	maxName  = 1 << 10
	maxTrace = 512
)

// maxIdentity is the same in every store.
const maxIdentity = 1 << 10

// identity refuses what names a message and would come out of a JSON argument, or
// of another store, as something else. It is never cleaned: two names could become
// one. The value is not shown, since it may hold anything.
func identity(names ...string) error {
	for _, name := range names {
		if !encode.Clean(name) {
			return fmt.Errorf("a name of %d bytes is not valid UTF-8 or holds a NUL byte", len(name))
		}
		if len(name) > maxIdentity {
			return fmt.Errorf("a name of %d bytes is longer than %d", len(name), maxIdentity)
		}
	}
	return nil
}

// checkMarks refuses marks that are not one for each shard.
func checkMarks(marks []int64, shards int) error {
	if len(marks) != shards {
		return fmt.Errorf("%d marks for %d shards", len(marks), shards)
	}
	return nil
}
