package dlq

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/attempt"
	"github.com/headrace/headrace/internal/chain"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/routed"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/txn"
)

// Database is what Middleware needs of a store; every store.Store is one.
type Database interface {
	// Begin opens a transaction for writing: see store.Store.
	Begin(ctx context.Context) (*txn.Txn, error)
	// Commit writes events into the outbox and commits: see store.Store.
	Commit(ctx context.Context, t *txn.Txn, events []outbox.Row) error
	// Inbox says where messages are.
	Inbox() inbox.Store
	// Letters keeps the dead letters.
	Letters() Store
}

// MiddlewareOptions tune Middleware. The zero value works.
type MiddlewareOptions struct {
	// Key and Fingerprint are those of inbox.Middleware, and must be the same where both
	// are used. Default: inbox.DefaultKey and inbox.Payload.
	Key inbox.KeyFunc
	// Fingerprint covers what the message says.
	Fingerprint inbox.FingerprintFunc
	// Handler names the handler in the scope of its keys; a redrive goes to the handler
	// of that name. Default: its name in the Router.
	Handler string
	// Topic names the topic for the copies of a topic's dead letters, which go through
	// the outbox; returning "" makes no copy, and nor does a topic that no event may
	// have, which is logged. Default: no copies.
	Topic func(topic string) string
	// NackPause is how long an error is kept from the Router, which gives a message back
	// at once, however often. Default: 1 s.
	NackPause time.Duration
	// Wake is called after a commit that wrote a copy, to wake the relay of this
	// process: st.Outbox().Signal().Wake. Default: nothing; a relay looks every second.
	Wake func()
	// Alerts take a row beside each letter: st.Operations().Alerts. A consumer of the
	// same name passes them on; where none runs they pile up. Default: none.
	Alerts alerts.Appender
	// Logger is told of each dead letter, without payload, key or the error's words.
	// Default: slog.Default.
	Logger *slog.Logger
}

// patience bounds our own statements of one transaction.
const patience = 30 * time.Second

// Middleware returns a middleware for a Watermill Router that keeps the messages for
// which what stands inside returns an error or panics: whole and as they came, in a
// dead letter, by one commit with the inbox row that says so. Then the message is
// acknowledged.
//
// Every error is final here, so put retry.Middleware inside; the letter then has all
// its attempts. Without it each failure is one attempt. The right order is Middleware,
// retry.Middleware, inbox.Middleware, the last two optional.
//
// An error that says nothing of the message (headrace.IsHeld) is passed on, and so is
// any that comes after the end of the message's context: a Router that is closed
// poisons nothing. Where the dead letter cannot be written, the message stays
// unacknowledged, and the error is a *headrace.HeldError. What is handed on inside is
// a copy of the message.
//
// A redrive puts the message into the backlog of the handler that gave it up. A plain
// Router does not work that off: the message waits until a consumer of this name runs
// that has the handler, by consumer.Attach or consumer.New.
//
// consumer is the first part of the scope of every key: give inbox.Middleware the
// same. The error of Middleware itself names the option that cannot be.
func Middleware(db Database, consumer string, o MiddlewareOptions) (message.HandlerMiddleware, error) {
	pause, err := routed.CheckPause(o.NackPause)
	if err == nil {
		err = encode.ConsumerName(consumer)
	}
	switch {
	case err != nil:
	case db == nil:
		err = errors.New("the database is nil")
	case o.Handler != "":
		err = encode.Name("option Handler", o.Handler)
	}
	if err != nil {
		return nil, fmt.Errorf("dlq.Middleware: %w", err)
	}
	if o.Topic == nil {
		o.Topic = func(string) string { return "" }
	}
	if o.Wake == nil {
		o.Wake = func() {}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	w := &middleware{db: db, o: o, who: inbox.Naming{Consumer: consumer, Handler: o.Handler, Key: o.Key, Fingerprint: o.Fingerprint}}
	w.host, w.build = attempt.Origin()
	return routed.Frame{Stage: chain.DeadLetters, Pause: pause}.Middleware(w.work), nil
}

type middleware struct {
	db          Database
	who         inbox.Naming
	o           MiddlewareOptions
	host, build string
}

// work calls what stands inside, and keeps the message where that fails.
func (w *middleware) work(ctx context.Context, m *message.Message, next message.HandlerFunc) (out []*message.Message, err error) {
	start := time.Now()
	returned := false
	defer func() {
		// Nothing can be returned to the Router after runtime.Goexit.
		if !returned && ctx.Err() == nil && w.keep(ctx, m, retry.ErrGoexit, time.Since(start)) == nil {
			m.Ack()
		}
	}()
	p, err := attempt.Catch(func() (err error) {
		out, err = routed.Call(next, routed.Copy(ctx, m))
		return err
	})
	if p == nil {
		p = attempt.Probe(err, probe)
	}
	if p != nil {
		err = &retry.PanicError{Value: p.Value, Stack: p.Stack}
	}
	returned = true
	if err == nil {
		return out, nil
	}
	if ctx.Err() != nil || headrace.IsHeld(err) {
		return nil, err
	}
	if failed := w.keep(ctx, m, err, time.Since(start)); failed != nil {
		return nil, fmt.Errorf("%w; what it was to keep: %w", failed, err)
	}
	return nil, nil
}

// probe asks of an error what the middleware will.
func probe(err error) {
	var c *inbox.ConflictError
	_ = headrace.IsHeld(err) || errors.As(err, &c)
	_ = retry.Classify(err)
}
