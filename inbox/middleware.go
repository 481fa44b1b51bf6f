package inbox

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/chain"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/routed"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

// Database is what Middleware needs of a store; every store.Store is one.
type Database interface {
	// Begin opens a transaction for writing: see store.Store.
	Begin(ctx context.Context) (*txn.Txn, error)
	// Commit writes events into the outbox and commits: see store.Store.
	Commit(ctx context.Context, t *txn.Txn, events []outbox.Row) error
	// Ping asks whether the database answers.
	Ping(ctx context.Context) error
	// Inbox keeps the rows.
	Inbox() Store
}

// MiddlewareOptions tune Middleware. The zero value works.
type MiddlewareOptions struct {
	// Key says what the key of a message is. Default: DefaultKey.
	Key KeyFunc
	// Fingerprint covers what the message says. Default: Payload.
	Fingerprint FingerprintFunc
	// Handler names the handler in the scope of its keys, and must never change while
	// messages of it are known. Default: its name in the Router.
	Handler string
	// Timeout ends the context of one run of the handler; it should be below the time in
	// which the broker takes a message for lost. Default: 30 s.
	Timeout time.Duration
	// NackPause is how long an error is kept from the Router, which gives a message back
	// at once, however often. It counts where this is the outermost middleware of this
	// module. Default: 1 s.
	NackPause time.Duration
	// Wake is called after a commit that wrote events, to wake the relay of this
	// process: st.Outbox().Signal().Wake. Default: nothing; a relay looks every second.
	Wake func()
	// Versions keep what Newer compares: st.Operations().Versions. Default: none; then
	// Newer is refused in the handler.
	Versions Versions
}

const (
	defaultTimeout = 30 * time.Second
	// patience bounds our own statements of one transaction, waits for keys that are
	// worked on elsewhere included.
	patience = 30 * time.Second
	// pingTime bounds a ping.
	pingTime = 2 * time.Second
	// slack is how much longer than a handler its transaction may idle.
	slack = 10 * time.Second
	// maxReruns is how often a message is run again for nothing, after a deadlock or a
	// COMMIT without an answer.
	maxReruns = 2
)

// Middleware returns a middleware for a Watermill Router that runs a handler once for
// each message, however often it is delivered: effects once inside one database.
//
// One transaction holds the record that the message was handled, what the handler
// writes through headrace.TxFrom(msg.Context()), and the messages that it returns: they
// go into the outbox, for the topic that the handler was registered with, and the
// Router publishes none. Their order is not kept. The message is acknowledged after the
// commit. A relay has to run somewhere: package outbox/relay.
//
// The handler is given a copy of the message, under a context that has its values and
// does not end with the subscription, but after Timeout; a handler that ignores that
// blocks the Router's goroutine for this message. What it does outside of the
// transaction is not covered. The transaction is its own (consumer.Alone), so Tx.SQL
// and Tx.Raw may be used.
//
// A second delivery of a message waits for the first, and is acknowledged without a
// run. One with the key of another message is a *ConflictError, one without a usable
// key a *KeyError; both are permanent to retry.Middleware, and dlq.Middleware keeps
// the message. ErrStale counts as handled. A panic becomes a *retry.PanicError. What
// is no fault of the message (the database does not answer, the handler ended the
// transaction) is a *headrace.HeldError: no attempt, no dead letter, and the message
// stays unacknowledged.
//
// Of Watermill's middlewares, Retry, PoisonQueue, IgnoreErrors, Deduplicator and
// Duplicator inside would have a failed attempt committed, and Deduplicator outside would
// drop the redelivery of one that failed: where they are found, on a handler's first
// messages, no message is handled or acknowledged, and the error matches
// headrace.ErrOrder. Behind InstantAck every message is acknowledged before it is
// handled, and one that fails is lost: that cannot be prevented here. Where it is found,
// messages are handled, and the error that says so is returned for the Router to log.
// What is hidden in the program's own code, or stands inside of a handler that never
// asks for its transaction, may not be found.
//
// consumer is the first part of the scope of every key: give dlq.Middleware the same,
// and the same Key and Fingerprint. The error of Middleware itself names the option
// that cannot be.
func Middleware(db Database, consumer string, o MiddlewareOptions) (message.HandlerMiddleware, error) {
	pause, err := routed.CheckPause(o.NackPause)
	if err == nil {
		err = encode.ConsumerName(consumer)
	}
	switch {
	case err != nil:
	case db == nil:
		err = errors.New("the database is nil")
	case o.Timeout < 0:
		err = fmt.Errorf("option Timeout is negative (%s): 0 gives the default", o.Timeout)
	case o.Handler != "":
		err = encode.Name("option Handler", o.Handler)
	}
	if err != nil {
		return nil, fmt.Errorf("inbox.Middleware: %w", err)
	}
	w := &middleware{db: db, who: Naming{Consumer: consumer, Handler: o.Handler, Key: o.Key, Fingerprint: o.Fingerprint}, timeout: o.Timeout, wake: o.Wake, versions: o.Versions}
	if w.timeout == 0 {
		w.timeout = defaultTimeout
	}
	if w.wake == nil {
		w.wake = func() {}
	}
	return routed.Frame{Stage: chain.Inbox, Pause: pause}.Middleware(w.work), nil
}

type middleware struct {
	db       Database
	who      Naming
	timeout  time.Duration
	wake     func()
	versions Versions
	// surroundings has the *surroundings of each handler by its name.
	surroundings sync.Map
}

// work runs a message until it is said what became of it.
func (w *middleware) work(ctx context.Context, m *message.Message, next message.HandlerFunc) ([]*message.Message, error) {
	s := w.around(m, next)
	s.outside()
	if wrong := s.refused(ctx); wrong != nil {
		return nil, wrong
	}
	if s.early.Load() { // some brokers end the context with the acknowledgement
		ctx = context.WithoutCancel(ctx)
	}
	d, err := w.who.Delivery(m)
	if headrace.IsHeld(err) {
		return nil, err
	}
	if err != nil {
		return nil, unusable(err)
	}
	for reruns := 0; ; reruns++ {
		r := w.try(ctx, m, &d, next)
		if r.err == nil {
			return nil, s.after()
		}
		if !r.again || reruns == maxReruns {
			return nil, r.err
		}
	}
}

// result is what one transaction gave: nil says that the message is done with.
type result struct {
	err error
	// again says that it may be run again at no attempt's cost; err is what it is
	// otherwise.
	again bool
}

// heldBack is a result that says nothing of the message.
func heldBack(what string, err error) result {
	return result{err: &headrace.HeldError{Err: fmt.Errorf("inbox: %s: %w", what, err)}}
}
