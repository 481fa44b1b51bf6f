package regress

import (
	"context"
	"runtime"
	"testing"
	"time"

	pgxlib "github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/pgtest/pgstore"
	"github.com/headrace/headrace/store/postgres"
)

// A source of CopyFrom, and a function of a batch, may call runtime.Goexit. That is a failed
// attempt at once, and the neighbours are applied.
//
// Without that CopyFrom waited for a row until the handler's deadline, and then without end
// for its own goroutine: the handler was abandoned, with its connection. A function of a batch
// waited for the end of its transaction.
//
//evidence:panic
func TestGoexitInCopyFromAndBatch(t *testing.T) {
	t.Parallel()
	for name, exit := range map[string]func(ctx context.Context, tx pgxlib.Tx) error{
		"source": func(ctx context.Context, tx pgxlib.Tx) error {
			n := 0
			_, err := tx.CopyFrom(ctx, pgxlib.Identifier{"effects"}, []string{"msg", "n"}, pgxlib.CopyFromFunc(func() ([]any, error) {
				if n++; n > 2 {
					runtime.Goexit()
				}
				return []any{"copied", n}, nil
			}))
			return err
		},
		"batch": func(ctx context.Context, tx pgxlib.Tx) error {
			b := new(pgxlib.Batch)
			b.Queue("INSERT INTO effects (msg, n) VALUES ('copied', 1)").Exec(func(pgconn.CommandTag) error { runtime.Goexit(); return nil })
			b.Queue("INSERT INTO effects (msg, n) VALUES ('copied', 2)")
			return tx.SendBatch(ctx, b).Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, w := range fewer([]way{inBatch, alone, fromBacklog, leased}) {
				t.Run(w.name, func(t *testing.T) {
					t.Parallel()
					dsn, schema := pgstore.New(t)
					f := newPostgres(t, pool, dsn, schema)
					const culprit, n = "m3", 6
					config := f.configOf(w)
					config.Concurrency, config.Retry = 1, attempts(2)
					began := time.Now()
					p, all := together(f, f.consumer(f.st, config), w, n, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
						if err := insert(ctx, tx, m); err != nil || m.ID != culprit {
							return err
						}
						native, err := postgres.PgxTx(tx)
						if err != nil {
							return err
						}
						return exit(ctx, native)
					})
					f.acked(all...)
					f.appliedOnce(neighbours(n, culprit)...)
					f.eventually("the message is dead", func() bool { return f.ended(culprit) })
					if list := f.attempts(culprit); len(list) != 2 || f.effects(culprit)+f.effects("copied") != 0 {
						f.Errorf("%d effects, attempts %v", f.effects(culprit), list)
					}
					if took := time.Since(began); took > 25*time.Second {
						f.Errorf("it took %s", took)
					}
					if err := p.halt(); err != nil {
						f.Errorf("Run returned %v", err)
					}
				})
			}
		})
	}
}
