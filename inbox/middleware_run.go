package inbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/attempt"
	"github.com/headrace/headrace/internal/routed"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/txn"
)

// try claims the message, runs the handler and commits, in one transaction.
func (w *middleware) try(ctx context.Context, m *message.Message, d *headrace.Delivery, next message.HandlerFunc) result {
	own, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	t, err := w.db.Begin(own)
	if err != nil {
		return w.own(ctx, nil, "begin", err)
	}
	defer t.Rollback() // also after runtime.Goexit
	id := ID{Scope: d.Scope, Key: d.Key}
	claimed, err := w.db.Inbox().Claim(own, t, ClaimRequest{Claims: []Claim{{ID: id, Fingerprint: d.Fingerprint}}, IdleTimeout: w.timeout + slack})
	if err != nil {
		return w.own(ctx, t, "claim", err)
	}
	if first := claimed[0]; first.Result != Won {
		if first.Entry.Fingerprint != d.Fingerprint {
			return result{err: conflict(d, first.Entry)}
		}
		return result{} // handled before, or the COMMIT without an answer had happened
	}
	start := time.Now()
	rows, err := w.run(ctx, t, m, d, next)
	if err != nil {
		t.Rollback() // a ping may need its connection
		return w.failed(ctx, d, err)
	}
	r := w.commit(ctx, t, rows)
	if lost := r.again && !headrace.IsHeld(r.err) && txn.Classify(r.err) == txn.Connection; lost && time.Since(start) > w.timeout {
		return result{err: fmt.Errorf("%w: %w", context.DeadlineExceeded, r.err)} // the server ends what idles
	}
	return r
}

// run calls the handler with a copy of the message under a context of its own, and
// returns what it published.
func (w *middleware) run(ctx context.Context, t *txn.Txn, m *message.Message, d *headrace.Delivery, next message.HandlerFunc) (rows []outbox.Row, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.timeout)
	defer cancel()
	o := headrace.TxOptions{Alone: true, Trace: d.Trace}
	if w.versions != nil {
		o.Scope, o.Versions = d.Scope, w.versions
	}
	tx := headrace.NewTx(t, o)
	defer func() { _ = tx.Close() }() // a goroutine of the handler's cannot use it any more
	inner, s := headrace.WithTx(ctx, tx), w.around(m, next)
	if s.looked.Load() < looks {
		inner = probing{inner, s}
	}
	p, err := attempt.Catch(func() error {
		out, err := routed.Call(next, routed.Copy(inner, m))
		if err != nil {
			return err
		}
		return routed.Publish(tx, d.ReplyTopic, out)
	})
	if p == nil {
		p = attempt.Probe(err, probe)
	}
	if p != nil {
		return nil, &retry.PanicError{Value: p.Value, Stack: p.Stack}
	}
	if bad := tx.Close(); err == nil {
		err = bad
	}
	if wrong := s.wrong.Load(); wrong != nil { // found while it ran
		err = *wrong
	}
	if err != nil {
		return nil, attempt.Ended(ctx, err)
	}
	for _, e := range tx.Events() {
		rows = append(rows, outbox.RowOf(e))
	}
	return rows, nil
}

// probe asks of an error what the middleware will.
func probe(err error) {
	_ = headrace.IsHeld(err) || errors.Is(err, ErrStale) || errors.Is(err, context.DeadlineExceeded)
	_ = txn.Classify(err)
}

// failed sorts the error of a handler whose transaction was rolled back.
func (w *middleware) failed(ctx context.Context, d *headrace.Delivery, err error) result {
	switch {
	case headrace.IsHeld(err):
		return result{err: err}
	case errors.Is(err, ErrStale):
		return w.stale(ctx, d)
	case errors.Is(err, context.DeadlineExceeded): // an attempt, whatever else it looks like
		return result{err: err}
	}
	switch txn.Classify(err) {
	case txn.Serialization:
		return result{err: err, again: true}
	case txn.Connection:
		if !w.answers(ctx) {
			return heldBack("handler", err)
		}
		return result{err: err, again: true}
	}
	return result{err: err}
}

// stale records that there was nothing to do.
func (w *middleware) stale(ctx context.Context, d *headrace.Delivery) result {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	t, err := w.db.Begin(ctx)
	if err != nil {
		return w.own(ctx, nil, "begin", err)
	}
	defer t.Rollback()
	e := Entry{ID: ID{Scope: d.Scope, Key: d.Key}, State: Done, Fingerprint: d.Fingerprint, Stale: true}
	first, err := w.db.Inbox().Record(ctx, t, e)
	if err != nil {
		return w.own(ctx, t, "mark stale", err)
	}
	if !first { // claimed again: it may be another message that was faster
		return result{err: &headrace.HeldError{Err: errors.New("inbox: mark stale: somebody else was faster")}, again: true}
	}
	return w.commit(ctx, t, nil)
}

// commit ends the transaction.
func (w *middleware) commit(ctx context.Context, t *txn.Txn, rows []outbox.Row) result {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	err := w.db.Commit(ctx, t, rows)
	switch {
	case err == nil:
		if len(rows) > 0 {
			w.wake()
		}
		return result{}
	case errors.Is(err, ErrSwitched):
		return heldBack("commit", err)
	case errors.Is(err, txn.ErrCommitUnknown):
		r := heldBack("commit", err)
		r.again = true // the claim tells whether it happened
		return r
	case errors.Is(err, txn.ErrRolledBack):
		return result{err: err, again: txn.Classify(err) == txn.Serialization}
	}
	return w.own(ctx, t, "commit", err)
}

// own sorts an error of our own statements: it is nobody's attempt. A lost connection
// while the store answers may be the handler's doing (an idle kill, a terminated
// backend), so after some reruns it counts, where there was a handler.
func (w *middleware) own(ctx context.Context, t *txn.Txn, what string, err error) result {
	if t != nil {
		t.Rollback()
	}
	r := heldBack(what, err)
	switch txn.Classify(err) {
	case txn.Serialization, txn.LockTimeout:
		r.again = true
	case txn.Connection:
		if what == "commit" && w.answers(ctx) {
			return result{err: err, again: true}
		}
	}
	return r
}

// answers pings the store.
func (w *middleware) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingTime)
	defer cancel()
	return w.db.Ping(ctx) == nil
}
