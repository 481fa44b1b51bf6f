package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/store/postgres"
)

// uses are the ways to use the handler's transaction; other is a pgx.Tx of it.
func uses(ctx context.Context, tx *headrace.Tx, other pgx.Tx) map[string]func() error {
	return map[string]func() error{
		"PgxTx":              func() error { _, err := postgres.PgxTx(tx); return err },
		"Tx.ExecContext":     func() error { _, err := tx.ExecContext(ctx, "SELECT 1"); return err },
		"Tx.QueryContext":    func() error { _, err := tx.QueryContext(ctx, "SELECT 1"); return err }, //nolint:sqlclosecheck,rowserrcheck // it has no rows
		"Tx.QueryRowContext": func() error { return tx.QueryRowContext(ctx, "SELECT 1").Scan(new(int)) },
		"Tx.PrepareContext":  func() error { _, err := tx.PrepareContext(ctx, "SELECT 1"); return err },
		"Tx.Newer":           func() error { _, err := tx.Newer(ctx, "entity", 1); return err },
		"Tx.Nested": func() error {
			return tx.Nested(ctx, func(context.Context, *headrace.Tx) error { return nil })
		},
		"Tx.Raw":    func() error { return tx.Raw(func(any) error { return nil }) },
		"Exec":      func() error { _, err := other.Exec(ctx, "SELECT 1"); return err },
		"QueryRow":  func() error { return other.QueryRow(ctx, "SELECT 1").Scan(new(int)) },
		"Begin":     func() error { _, err := other.Begin(ctx); return err },
		"SendBatch": func() error { return other.SendBatch(ctx, queued("SELECT 1")).Close() },
	}
}

// A source of CopyFrom, a function of a batch and that of Raw cannot use the transaction,
// which would wait for itself: they get an error at once, and the outer call goes on.
func TestBusyTransaction(t *testing.T) {
	b := overPgx(t)
	ctx := t.Context()
	x, tx, p := b.handler("k", true)
	other, err := postgres.PgxTx(tx)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for outer, call := range map[string]func(use func() error) error{
		"CopyFrom": func(use func() error) error {
			done := false
			_, err := p.CopyFrom(ctx, pgx.Identifier{"n"}, []string{"n"}, pgx.CopyFromFunc(func() ([]any, error) {
				if done {
					return nil, nil
				}
				done = true
				n++
				return []any{n}, use()
			}))
			return err
		},
		"batch": func(use func() error) error {
			batch := new(pgx.Batch)
			batch.Queue("SELECT 1").QueryRow(func(pgx.Row) error { return use() })
			return p.SendBatch(ctx, batch).Close()
		},
		"Raw": func(use func() error) error { return tx.Raw(func(any) error { return use() }) },
	} {
		for name, use := range uses(ctx, tx, other) {
			within(t, 30*time.Second, name+" within "+outer, func() {
				err := call(func() error {
					if err := use(); !errors.Is(err, headrace.ErrTxBusy) {
						t.Errorf("%s within %s: %v", name, outer, err)
					}
					return nil
				})
				if err != nil {
					t.Errorf("%s with %s in it: %v", outer, name, err)
				}
			})
		}
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO n VALUES (0)"); err != nil || tx.Close() != nil {
		t.Errorf("afterwards: %v", err)
	}
	if err := b.Commit(ctx, x, nil); err != nil {
		t.Fatal(err)
	}
	if got := one[int](b, b.db, "SELECT count(*) FROM n"); got != n+1 {
		t.Errorf("%d rows of %d", got, n+1)
	}
}
