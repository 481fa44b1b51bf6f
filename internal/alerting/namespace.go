package alerting

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// errLost says that another reader has the lease.
var errLost = errors.New("the lease of the alerts is another's")

// work sends the due alerts of a namespace, and reports whether there may be more rows to
// count. It writes nothing if no alert waits.
func (r *Reader) work(namespace string) (more bool, err error) {
	ctx, cancel := context.WithTimeout(r.life, storeTimeout)
	defer cancel()
	waiting, err := r.store().Waiting(ctx, namespace, r.owner)
	if err != nil || !waiting {
		return false, err
	}
	leased := time.Now()
	var taken alerts.Taken
	err = r.in(ctx, func(t *txn.Txn) (err error) {
		taken, err = r.store().Take(ctx, t, alerts.TakeRequest{
			Namespace: namespace, Owner: r.owner, Lease: r.lease, Limit: r.o.PerMinute,
			Rows: takeRows, Expire: expireTime, Forget: forgetTime,
		})
		return err
	})
	if err != nil || !taken.OK {
		return false, err
	}
	r.holds[namespace] = true
	if taken.Expired > 0 {
		r.caller.logger.Warn("alerts dropped: they could not be sent for a day", "consumer", namespace, "count", taken.Expired)
	}
	err = r.pass(namespace, taken, leased)
	if errors.Is(err, errLost) {
		return false, nil
	}
	return taken.More, err
}

func (r *Reader) store() alerts.Store { return r.st.Operations().Alerts }

// in runs f in a transaction and commits. An unknown outcome is an error: the reader then
// takes the same alerts again.
func (r *Reader) in(ctx context.Context, f func(*txn.Txn) error) error {
	if err := store.Transact(ctx, r.st, f); err != nil {
		return fmt.Errorf("alerts: %w", err)
	}
	return nil
}

// pass calls the hook for the alerts that may be sent now. No transaction is open
// meanwhile.
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

// send calls the hook and records the result. After a crash in between, the alert is sent
// again.
func (r *Reader) send(s alerts.Settlement, a alerts.Alert, failures int, leased time.Time) error {
	if time.Since(leased) > r.lease/2 {
		return errLost // the lease may be lost soon: look again first
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

// record returns a context for writing the result, also while the reader closes.
func (r *Reader) record() (context.Context, context.CancelFunc) {
	limit := storeTimeout
	if r.life.Err() != nil {
		limit = lastTime
	}
	return context.WithTimeout(context.WithoutCancel(r.life), limit)
}

// release gives the leases back, so that another process need not wait until they end.
func (r *Reader) release() {
	ctx, cancel := r.record()
	defer cancel()
	for _, namespace := range r.namespaces {
		if r.failed || !r.holds[namespace] {
			continue
		}
		err := r.in(ctx, func(t *txn.Txn) error { return r.store().Release(ctx, t, namespace, r.owner) })
		if err != nil { // the lease ends by itself
			r.caller.logger.Info("alerts: the lease was not given back", "consumer", namespace, "error", encode.Said(err))
		}
	}
}
