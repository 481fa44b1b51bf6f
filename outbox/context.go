package outbox

import (
	"context"

	"github.com/headrace/headrace"
)

type txKey struct{}

// WithTx returns a context that carries the transaction tx for a Publisher: any type that
// Outbox.Publish accepts, of the outbox's own database. It takes precedence over the
// transaction of headrace.WithTx.
func WithTx(ctx context.Context, tx headrace.Execer) context.Context {
	return context.WithValue(ctx, txKey{}, tx)
}

// txFrom returns the transaction in ctx; nil if there is none.
func txFrom(ctx context.Context) headrace.Execer {
	if tx, ok := ctx.Value(txKey{}).(headrace.Execer); ok {
		return tx
	}
	if tx, ok := headrace.TxFrom(ctx); ok {
		return tx
	}
	return nil
}
