package alerting

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/store/txn"
)

// errLost says that another reader has taken the lease.
var errLost = errors.New("the lease of the alerts is another's")

// round passes on what is due of a namespace, and reports whether there may be more
// rows to count. Nothing is written where nothing waits.
func (r *Reader) round(namespace string) (more bool, err error) {
	ctx, cancel := context.WithTimeout(r.life, bookTime)
	defer cancel()
	waiting, err := r.store().Waiting(ctx, namespace, r.owner)
	if err != nil || !waiting {
		return false, err
	}
	leased := time.Now()
	taken, err := r.take(ctx, namespace)
	if err != nil || !taken.OK {
		return false, err
	}
	r.holds[namespace] = true
	if taken.Expired > 0 {
		r.logger.Warn("alerts dropped: nobody could pass them on for a day", "consumer", namespace, "count", taken.Expired)
	}
	err = r.pass(namespace, taken, leased)
	if errors.Is(err, errLost) {
		return false, nil
	}
	return taken.More, err
}

func (r *Reader) store() alerts.Store { return r.st.Operations().Alerts }

// take counts rows and finds out what is due.
func (r *Reader) take(ctx context.Context, namespace string) (taken alerts.Taken, err error) {
	err = r.in(ctx, func(t *txn.Txn) (err error) {
		taken, err = r.store().Take(ctx, t, alerts.TakeRequest{
			Namespace: namespace, Owner: r.owner, Lease: r.lease, Limit: r.o.PerMinute,
			Rows: takeRows, Expire: expireTime, Forget: forgetTime,
		})
		return err
	})
	return taken, err
}

// in runs f in a transaction and commits. An unknown outcome is an error: what was
// taken is taken again.
func (r *Reader) in(ctx context.Context, f func(*txn.Txn) error) error {
	t, err := r.st.Begin(ctx)
	if err != nil {
		return fmt.Errorf("alerts: begin: %w", err)
	}
	if err := f(t); err != nil {
		if ctx.Err() != nil || txn.Classify(err) == txn.Connection {
			t.Discard() // a rollback could wait for ever
		} else {
			t.Rollback()
		}
		return fmt.Errorf("alerts: %w", err)
	}
	if err := r.st.Commit(ctx, t, nil); err != nil {
		return fmt.Errorf("alerts: commit: %w", err)
	}
	return nil
}

// pass calls the hook for what may be sent now. No transaction is open meanwhile.
func (r *Reader) pass(namespace string, taken alerts.Taken, leased time.Time) error {
	list, room := taken.Due, r.o.PerMinute-taken.Tried
	if taken.Groups > int64(room) {
		r.full[namespace] = time.Now().Add(fullTime)
		list = list[:max(0, min(len(list), room-1))]
	}
	s := alerts.Settlement{Namespace: namespace, Owner: r.owner, Lease: r.lease, Until: taken.Until}
	for _, d := range list {
		s.Grp = d.Grp
		if err := r.send(s, compose(d), d.Failures, leased); err != nil {
			return err
		}
		leased = time.Now()
	}
	if s.Grp = ""; int64(len(list)) < taken.Groups && room > 0 {
		return r.send(s, composeRest(namespace, taken, list), 0, leased)
	}
	return nil
}

// send calls the hook and records what came of it. A crash in between sends the alert
// again.
func (r *Reader) send(s alerts.Settlement, a alerts.Alert, failures int, leased time.Time) error {
	if time.Since(leased) > r.lease/2 {
		return errLost // it may be soon: better look again
	}
	err := r.caller.Call(r.life, a)
	if errors.Is(err, errNotBegun) {
		return errLost
	}
	s.Passed, s.Wait = err == nil, r.o.Quiet
	if err != nil {
		s.Wait = r.retry(failures+1, err)
	}
	ctx, cancel := r.record()
	defer cancel()
	ok := false
	err = r.in(ctx, func(t *txn.Txn) (err error) {
		ok, err = r.store().Settle(ctx, t, s)
		return err
	})
	if err == nil && !ok {
		return errLost
	}
	return err
}

// record returns a context for what is recorded also while the reader closes.
func (r *Reader) record() (context.Context, context.CancelFunc) {
	if r.life.Err() != nil {
		return context.WithTimeout(context.WithoutCancel(r.life), lastTime)
	}
	return context.WithTimeout(context.WithoutCancel(r.life), bookTime)
}

// release gives the leases back, so that another process need not wait for their end.
func (r *Reader) release() {
	ctx, cancel := r.record()
	defer cancel()
	for _, namespace := range r.namespaces {
		if r.failed || !r.holds[namespace] {
			continue
		}
		err := r.in(ctx, func(t *txn.Txn) error { return r.store().Release(ctx, t, namespace, r.owner) })
		if err != nil { // it ends by itself
			r.logger.Info("alerts: the lease was not given back", "consumer", namespace, "error", encode.Said(err))
		}
	}
}
