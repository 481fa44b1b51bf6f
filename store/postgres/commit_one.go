package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// CommitOne implements sqlrun.Driver. Outside of a transaction a statement is one of its
// own, and its answer is that of COMMIT. It runs under the defaults of the login; where
// the server refuses it under those, it runs in a transaction as Begin makes it.
func (d dialect) CommitOne(ctx context.Context, query string, args ...any) (n int, err error) {
	n, err = d.alone(ctx, query, args)
	if err == nil {
		return n, nil
	}
	err = d.begin.Outcome(err)
	if !errors.Is(err, txn.ErrRolledBack) || !refusedByDefaults(err) {
		return 0, err
	}
	err = store.Transact(ctx, d, func(t *txn.Txn) error {
		n, err = sqlrun.Affected(t.ExecContext(ctx, query, args...))
		return err
	})
	return n, err
}

// refusedByDefaults reports whether err may come from default_transaction_isolation or
// default_transaction_read_only, or from how the statement was prepared.
func refusedByDefaults(err error) bool {
	const readOnly = "25006"
	var e interface{ SQLState() string }
	return txn.Classify(err) == txn.Serialization || errors.As(err, &e) && e.SQLState() == readOnly
}

// alone runs a statement outside of a transaction.
func (d dialect) alone(ctx context.Context, query string, args []any) (int, error) {
	if !d.unreachable {
		return d.once(ctx, query, args)
	}
	// The driver waits for an answer without a bound, on a connection that cannot be cut.
	type answer struct {
		n   int
		err error
	}
	answered := make(chan answer, 1)
	go func() {
		n, err := d.once(ctx, query, args)
		answered <- answer{n, err}
	}()
	select {
	case a := <-answered:
		return a.n, a.err
	case <-ctx.Done():
		d.abandoned.Run(func() { <-answered })
		return 0, fmt.Errorf("no answer: %w", context.Cause(ctx))
	}
}

// once runs a statement on a connection that has not ended.
func (d dialect) once(ctx context.Context, query string, args []any) (int, error) {
	connections := d.db.Stats().OpenConnections
	if d.pool != nil {
		connections += int(d.pool.pool.Stat().TotalConns())
	}
	return pastIdleEnds(ctx, connections, func() (int, error) { return sqlrun.Affected(d.statements.ExecContext(ctx, query, args...)) })
}
