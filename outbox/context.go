package outbox

import (
	"context"

	"github.com/headrace/headrace"
)

type txKey struct{}

// WithTx returns a context that carries the transaction tx for a Publisher: whatever
// Outbox.Publish takes, of the outbox's own database. It goes before the one that
// headrace.WithTx put there.
func WithTx(ctx context.Context, tx headrace.Execer) context.Context {
	return context.WithValue(ctx, txKey{}, tx)
}

// txFrom returns the transaction that ctx carries; nil if it carries none.
func txFrom(ctx context.Context) headrace.Execer {
	if tx, ok := ctx.Value(txKey{}).(headrace.Execer); ok {
		return tx
	}
	if tx, ok := headrace.TxFrom(ctx); ok {
		return tx
	}
	return nil
}
