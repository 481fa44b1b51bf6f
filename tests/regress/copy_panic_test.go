package regress

import (
	"context"
	"testing"

	pgxlib "github.com/jackc/pgx/v5"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/pgtest/pgstore"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/postgres"
)

// A source of CopyFrom may panic: pgx calls it in a goroutine of its own. That is a failed
// attempt with the stack of the source, and the neighbours are applied.
//
// Without that the panic ended the process, and each message beside it ran again.
//
//evidence:panic
func TestPanicInCopyFrom(t *testing.T) {
	t.Parallel()
	for _, w := range everyWay {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			dsn, schema := pgstore.New(t)
			f := newPostgres(t, pool, dsn, schema)
			const culprit, n = "m3", 6
			config := f.configOf(w)
			config.Concurrency, config.Retry = 1, attempts(2)
			_, all := together(f, f.consumer(f.st, config), w, n, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
				if err := insert(ctx, tx, m); err != nil || m.ID != culprit {
					return err
				}
				native, err := postgres.PgxTx(tx)
				if err != nil {
					return err
				}
				_, err = native.CopyFrom(ctx, pgxlib.Identifier{"effects"}, []string{"msg", "n"}, pgxlib.CopyFromFunc(func() ([]any, error) { panic("in the source") }))
				return err
			})
			f.acked(all...)
			f.appliedOnce(neighbours(n, culprit)...)
			f.eventually("the message is dead", func() bool { return f.ended(culprit) })
			list := f.attempts(culprit)
			if len(list) != 2 || list[0].Class != string(retry.Panic) || f.effects(culprit) != 0 {
				f.Errorf("%d effects, attempts %v", f.effects(culprit), list)
			}
			if n := f.count("SELECT count(*) FROM headrace_dead_letters WHERE stack LIKE '%TestPanicInCopyFrom%'"); n != 1 {
				f.Error("the letter has not the stack of the panic")
			}
		})
	}
}
