package intent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/propagation"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/outcome"
	"github.com/headrace/headrace/internal/sleep"
	"github.com/headrace/headrace/store/txn"
)

var (
	// ErrConflict matches the error of a Start whose key belongs to other content. Nothing
	// was written, and no dead letter either. The intent that has the key comes with it.
	ErrConflict = errors.New("the key belongs to an intent with other content")
	// ErrBusy matches the error of a Start that had to wait too long, for a transaction that
	// holds the key or for the database. Nothing was started: repeat it.
	ErrBusy = errors.New("the database is busy")
)

const (
	// lockTime is how long Start waits for a connection, and for a key that another
	// transaction holds.
	lockTime = 2 * time.Second
	// storeTime bounds the statements of one try, waits and COMMIT included.
	storeTime = 10 * time.Second
	// againTime is how long Start asks again after a COMMIT without an answer, from
	// firstAgain to lastAgain apart.
	againTime  = 10 * time.Second
	firstAgain = 20 * time.Millisecond
	lastAgain  = time.Second
	// maxAgain is how often Start tries again at once.
	maxAgain = 8
)

// Start commits the intent to the backlog of its handler, or returns the one that has the
// key, in whatever state, if the content is the same by SameWhen. Of concurrent calls one
// starts it. When Start has returned without an error the intent is durable, and is handled
// once, however often it is started within the retention of its consumer.
//
// An error matches ErrInvalid, ErrConflict, which the intent that has the key comes with,
// ErrBusy after 2 seconds, or is of the database. After a COMMIT without an answer Start
// asks again for 10 seconds; if it gets none, the error matches txn.ErrCommitUnknown, and
// the intent may be started. After any error the call may be repeated, in another process
// too.
//
// It blocks for at most 20 seconds if the database does not answer. If ctx ends while its
// transaction is open, it waits for that one.
func (k Kind[T]) Start(ctx context.Context, c *Client, r Request[T]) (Intent, error) {
	if err := c.open(); err != nil {
		return Intent{}, err
	}
	d, err := k.Delivery(r)
	if err != nil {
		return Intent{}, err
	}
	if d.Trace == (headrace.TraceContext{}) {
		span := propagation.MapCarrier{}
		propagation.TraceContext{}.Inject(ctx, span)
		d.Trace = headrace.TraceFrom(span)
	}
	return c.start(ctx, backlog.Item{Consumer: k.Consumer, Handler: k.Handler, Delivery: d, Strict: d.OrderKey != ""})
}

func (c *Client) start(ctx context.Context, item backlog.Item) (Intent, error) {
	id := inbox.ID{Scope: item.Delivery.Scope, Key: item.Delivery.Key}
	for tries := 0; ; tries++ {
		claimed, err := c.claim(ctx, item)
		if errors.Is(err, txn.ErrCommitUnknown) {
			claimed, err = c.askAgain(ctx, item, err)
		}
		again := tries < maxAgain && txn.Classify(err) == txn.Serialization && !errors.Is(err, txn.ErrCommitUnknown)
		switch {
		case again:
			continue
		case err != nil:
			return Intent{}, fmt.Errorf("start an intent: %w", err)
		case claimed.Result == inbox.Won:
			c.st.Backlog().Signals.Wake(item.Consumer)
			return Intent{New: true, Entry: inbox.Entry{ID: id, State: inbox.Waiting, Fingerprint: item.Delivery.Fingerprint, At: time.Now()}}, nil
		}
		got, err := c.get(ctx, id)
		switch {
		case errors.Is(err, ErrUnknown) && tries < maxAgain: // retention has removed it since
			continue
		case err != nil:
			return Intent{}, fmt.Errorf("start an intent: %w", err)
		case got.Fingerprint != item.Delivery.Fingerprint:
			return got, fmt.Errorf("%w: %s", ErrConflict, id.Scope)
		}
		return got, nil
	}
}

// askAgain repeats a claim whose COMMIT had no answer, until one has an outcome.
func (c *Client) askAgain(ctx context.Context, item backlog.Item, unknown error) (inbox.Claimed, error) {
	ctx, cancel := context.WithTimeout(ctx, againTime)
	defer cancel()
	for pause := firstAgain; sleep.For(ctx, pause); pause = min(2*pause, lastAgain) {
		if claimed, err := c.claim(ctx, item); err == nil {
			return claimed, nil
		}
	}
	return inbox.Claimed{}, unknown
}

// claim tries once. A result without an error is Won, which is committed, or Lost.
func (c *Client) claim(ctx context.Context, item backlog.Item) (inbox.Claimed, error) {
	t, err := c.begin(ctx)
	if err != nil {
		return inbox.Claimed{}, err
	}
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer cancel()
	t.CutAfter(own)
	defer t.Rollback() // before cancel, which would cut the connection
	limits := outcome.Limits{Lock: lockTime, Limits: txn.Limits{Idle: storeTime, Statement: storeTime}}
	claimed, err := outcome.Start(own, t, c.st, item, limits)
	switch {
	case err != nil && (own.Err() != nil || txn.Classify(err) == txn.Connection):
		t.Discard() // a rollback could hang like the statement
	case err != nil && txn.Classify(err) == txn.LockTimeout:
		err = fmt.Errorf("%w: %w", ErrBusy, err)
	case err == nil && claimed.Result == inbox.Busy:
		err = fmt.Errorf("%w: another transaction holds the key", ErrBusy)
	case err == nil && claimed.Result == inbox.Won:
		err = c.st.Commit(own, t, nil)
	}
	return claimed, err
}

// begin begins a transaction, unless that takes too long.
func (c *Client) begin(ctx context.Context) (*txn.Txn, error) {
	short, cancel := context.WithTimeout(ctx, lockTime)
	defer cancel()
	t, err := c.st.Begin(short)
	if err != nil && ctx.Err() == nil && (short.Err() != nil || txn.Classify(err) == txn.LockTimeout) {
		return nil, fmt.Errorf("%w: no transaction within %s: %w", ErrBusy, lockTime, err)
	}
	return t, err
}
