package headrace

import (
	"context"

	"github.com/headrace/headrace/internal/encode"
)

// IdempotencyKey returns a key to send to another system with a request, so that the
// system drops a repetition of it. It is a UUID, and the same on every retry, rerun,
// redelivery and redrive of the message, in every process, and after a restore of a
// backup. It differs for every consumer and handler (Scope), Key and database; a copy of
// a database becomes another one by the command "headrace migrate new-id".
//
// A handler that sends several requests adds what tells them apart, such as the number of
// a line. Such a handler is leased or Alone: any other may run again although it
// succeeded. The key is a hash of names that may be guessed, so it is no secret.
//
// It is for handlers. Elsewhere, as in a key function, Database is empty, and the key
// another one.
func (d *Delivery) IdempotencyKey() string {
	return encode.IdempotencyKey(d.Database, d.Scope, d.Key, "", 0)
}

type idempotencyKey struct{}

// WithIdempotencyKey returns a context that carries d's IdempotencyKey, which is computed
// when it is asked for. The consumer calls it for handlers of a Watermill Router.
func WithIdempotencyKey(ctx context.Context, d *Delivery) context.Context {
	return context.WithValue(ctx, idempotencyKey{}, d)
}

// IdempotencyKeyFrom returns the key that ctx carries, as does the context of a message in
// a handler of a Watermill Router; "" if it carries none.
func IdempotencyKeyFrom(ctx context.Context) string {
	if d, ok := ctx.Value(idempotencyKey{}).(*Delivery); ok {
		return d.IdempotencyKey()
	}
	return ""
}
