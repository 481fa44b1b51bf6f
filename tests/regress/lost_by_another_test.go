package regress

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/headrace/headrace"
)

// openRows leaves rows of a prepared statement open.
func openRows(ctx context.Context, tx *headrace.Tx, _ *fixture) error {
	statement, err := tx.PrepareContext(ctx, "SELECT n FROM numbers WHERE n > $1")
	if err != nil {
		return err
	}
	rows, err := statement.QueryContext(ctx, 3)
	if err == nil {
		rows.Next()
	}
	return err
}

// behindBack are ways in which a handler may harm its connection through a statement that
// it has prepared, whose runs and rows its Tx does not see.
var behindBack = []struct {
	name string
	harm func(ctx context.Context, tx *headrace.Tx, f *fixture) error
}{
	{"rows of a prepared statement", openRows},
	{"rows of a prepared statement, in Nested", func(ctx context.Context, tx *headrace.Tx, f *fixture) error {
		return tx.Nested(ctx, func(ctx context.Context, tx *headrace.Tx) error { return openRows(ctx, tx, f) })
	}},
	{"rows of a prepared statement, and an error", func(ctx context.Context, tx *headrace.Tx, f *fixture) error {
		return errors.Join(openRows(ctx, tx, f), errors.New("refused by the handler"))
	}},
	{"a late prepared statement whose error is ignored", func(ctx context.Context, tx *headrace.Tx, f *fixture) error {
		slow := "SELECT pg_sleep(2)"
		if f.driver == onFile {
			slow = "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 50000000) INSERT INTO effects (msg, n) SELECT 'slow', count(*) FROM c"
		}
		statement, err := tx.PrepareContext(ctx, slow)
		if err != nil {
			return err
		}
		short, cancel := context.WithTimeout(ctx, 30*time.Millisecond)
		defer cancel()
		_, _ = statement.ExecContext(short)
		return nil
	}},
}

// A handler that loses the connection behind its Tx's back, and returns nil, is the only
// one that may fail for it. Before, a neighbour was run next on the lost connection and
// became a dead letter; on SQLite the process ended with a memory fault.
//
//evidence:open-rows
func TestConnectionLostByANeighbour(t *testing.T) {
	t.Parallel()
	for i, b := range behindBack {
		t.Run(b.name, func(t *testing.T) {
			onEachWay(t, onEachStore, inTurn(i, everyWay), func(f *fixture, w way) {
				f.exec("CREATE TABLE numbers (n INTEGER)")
				f.exec("INSERT INTO numbers (n) WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 5000) SELECT n FROM c")
				// After the first one the batch has savepoints, to which it goes back after the second.
				culprits, n := []string{"m3", "m6"}, 10
				others := slices.DeleteFunc(series("m", n), func(id string) bool { return slices.Contains(culprits, id) })
				config := f.configOf(w)
				config.Concurrency, config.Retry = 1, attempts(1)
				_, all := together(f, f.consumer(f.st, config), w, n, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
					err := insert(ctx, tx, m)
					if err == nil && slices.Contains(culprits, m.ID) {
						err = b.harm(ctx, tx, f)
					}
					return err
				})
				f.acked(all...)
				f.eventually("all neighbours are applied or dead", func() bool {
					return !slices.ContainsFunc(others, func(id string) bool { return !f.ended(id) })
				})
				for _, l := range f.letters() {
					if !slices.Contains(culprits, l.Delivery.Key) {
						f.Errorf("the neighbour %s is a dead letter: %s", l.Delivery.Key, l.Error)
					}
				}
				f.appliedOnce(others...)
			})
		})
	}
}

// Rows that are left open inside of Nested are closed before its savepoint is released.
//
//evidence:open-rows
func TestRowsLeftOpenInNested(t *testing.T) {
	t.Parallel()
	onEachWay(t, onEachStore, []way{inBatch, alone}, func(f *fixture, w way) {
		f.exec("CREATE TABLE numbers (n INTEGER)")
		f.exec("INSERT INTO numbers (n) WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 5000) SELECT n FROM c")
		_, all := together(f, f.consumer(f.st, f.configOf(w)), w, 4, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			if err := insert(ctx, tx, m); err != nil {
				return err
			}
			return tx.Nested(ctx, func(ctx context.Context, tx *headrace.Tx) error {
				rows, err := tx.QueryContext(ctx, "SELECT n FROM numbers WHERE n > $1", 3)
				if err == nil {
					rows.Next()
				}
				return err
			})
		})
		f.acked(all...)
		f.appliedOnce(series("m", 4)...)
		f.noLetters()
	})
}
