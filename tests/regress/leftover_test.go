package regress

import (
	"context"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/store/postgres"
)

// leaves are statements of a handler that leave something under one name in the transaction.
var leaves = []struct {
	name string
	run  func(ctx context.Context, tx *headrace.Tx) error
	// runs is how often a message may run.
	runs int
}{
	{"cursor", func(ctx context.Context, tx *headrace.Tx) error {
		_, err := tx.ExecContext(ctx, "DECLARE c CURSOR FOR SELECT msg FROM effects")
		return err
	}, 1},
	{"cursor behind another statement", func(ctx context.Context, tx *headrace.Tx) error {
		_, err := tx.ExecContext(ctx, "SELECT 1; declare c cursor for SELECT msg FROM effects; SELECT 2")
		return err
	}, 1},
	{"cursor in a part", func(ctx context.Context, tx *headrace.Tx) error {
		return tx.Nested(ctx, func(ctx context.Context, tx *headrace.Tx) error {
			_, err := tx.ExecContext(ctx, "DECLARE c CURSOR FOR SELECT msg FROM effects")
			return err
		})
	}, 1},
	{"cursor of a function", func(ctx context.Context, tx *headrace.Tx) error {
		_, err := tx.ExecContext(ctx, "SELECT opens()")
		return err
	}, 6},
	{"table of a function", func(ctx context.Context, tx *headrace.Tx) error {
		_, err := tx.ExecContext(ctx, "SELECT makes()")
		return err
	}, 6},
	{"cursor of pgx", func(ctx context.Context, tx *headrace.Tx) error {
		native, err := postgres.PgxTx(tx)
		if err != nil {
			return err
		}
		_, err = native.Exec(ctx, "DECLARE c CURSOR FOR SELECT msg FROM effects")
		return err
	}, 1},
}

// A handler may leave a cursor open, and a function of the user's may leave one or a temporary
// table. The next handler of the transaction may want the same name: all messages are applied,
// without a failed attempt.
//
// Without that the neighbours of the first message became dead letters.
//
//evidence:neighbours
func TestHandlerLeavesACursorOpen(t *testing.T) {
	t.Parallel()
	for i, left := range leaves {
		t.Run(left.name, func(t *testing.T) {
			onEachWay(t, onPostgres, inTurn(i, []way{inBatch, fromBacklog, alone}), func(f *fixture, w way) {
				if left.name == "cursor of pgx" && f.driver != pool {
					return
				}
				f.exec(`CREATE FUNCTION opens() RETURNS refcursor LANGUAGE plpgsql AS 'DECLARE c refcursor := ''c''; BEGIN OPEN c FOR SELECT msg FROM effects; RETURN c; END'`)
				f.exec(`CREATE FUNCTION makes() RETURNS void LANGUAGE plpgsql AS 'BEGIN CREATE TEMP TABLE made (n integer) ON COMMIT DROP; END'`)
				const n = 10
				var seen runs
				config := f.configOf(w)
				config.Concurrency = 1
				_, all := together(f, f.consumer(f.st, config), w, n, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
					seen.next(m.ID)
					if err := insert(ctx, tx, m); err != nil {
						return err
					}
					return left.run(ctx, tx)
				})
				f.acked(all...)
				f.appliedOnce(series("m", n)...)
				f.noLetters()
				for _, id := range series("m", n) {
					if got := seen.of(id); got > left.runs {
						f.Errorf("%s ran %d times", id, got)
					}
				}
			})
		})
	}
}
