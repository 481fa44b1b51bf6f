package headrace

import "context"

type txKey struct{}

// WithTx returns a context that carries tx, for code that is given a context and no
// transaction: a Watermill handler, or what it calls.
func WithTx(ctx context.Context, tx *Tx) context.Context {
	return context.WithValue(ctx, txKey{}, tx)
}

// TxFrom returns the transaction that ctx carries, and whether it carries one. In a
// Watermill handler behind inbox.Middleware or consumer.Attach, the message's
// context does.
func TxFrom(ctx context.Context) (*Tx, bool) {
	tx, ok := ctx.Value(txKey{}).(*Tx)
	return tx, ok && tx != nil
}
