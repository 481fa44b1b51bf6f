package runtime

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// Finish ends everything, in the order of the package's rules. The run is stopping
// already. Unless the database hangs it takes DrainTimeout, Grace and two seconds at most:
// what hangs hangs at the same time.
func (r *Run) Finish() error {
	defer r.end()
	defer r.rt.running.Store(false)
	defer r.rt.failures.Flush() // after the work
	drained := time.Now().Add(r.rt.DrainTimeout)
	last := drained.Add(Grace)
	r.Budget.Close()
	var err error
	// A Subscribe that hangs may need the end of its context.
	if !within(&r.Receivers, time.Second) {
		r.unsubscribe()
		if !within(&r.Receivers, Grace) {
			err = errReceiving
		}
	}
	for _, h := range r.rt.handlers {
		h.dispatch.Stop()
	}
	hung := r.endWork(drained)
	if !within(&r.calls, until(last)) {
		err = errors.Join(err, fmt.Errorf("handlers still run: %s: %w (%s)", r.rt.left.Names(), ErrDrainTimeout, r.rt.DrainTimeout))
	}
	if !within(&r.Taken, until(last)) {
		err = errors.Join(err, errTaken)
	}
	r.unsubscribe()
	r.nacks.Wait()
	r.instance.end(hung == nil)
	r.leaving.Wait()
	left := r.leave(max(time.Until(drained), min(r.rt.DrainTimeout, Grace)))
	return errors.Join(err, hung, r.left, left, r.closeGauges(), r.alerts.Close(until(last)))
}

// leastWait is the least time for the end of what may have ended long ago.
const leastWait = time.Second

// until returns how long it is until t, and leastWait at least.
func until(t time.Time) time.Duration { return max(time.Until(t), leastWait) }

// endWork waits for the batches and the backlog's drain, within the time limits of a
// stop. Their time is over at drained; then the relay begins to end beside them.
func (r *Run) endWork(drained time.Time) error {
	if within(&r.workers, time.Until(drained)) {
		return nil
	}
	r.cancel()
	r.leaving.Go(func() { r.left = r.leave(min(r.rt.DrainTimeout, Grace)) })
	if within(&r.workers, RecordTime) {
		return nil
	}
	r.cut()
	if within(&r.workers, cutTime) {
		return nil
	}
	return fmt.Errorf("messages: %w", errHung)
}

// within waits for wg for at most d, and reports whether wg was done.
func within(wg *sync.WaitGroup, d time.Duration) bool {
	done := make(chan struct{})
	go func() { // ends with wg, unless a handler never returns
		wg.Wait()
		close(done)
	}()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// atMost calls f, which should return within limit, and abandons it if it does not.
func atMost(limit time.Duration, what string, f func() error) error {
	var err error
	var wg sync.WaitGroup
	wg.Go(func() { err = f() })
	if !within(&wg, limit) {
		return fmt.Errorf("%s: %w", what, errHung)
	}
	return err
}

// boundedStore is a store whose transactions are cut off at the time limit of a stop;
// after it, Begin fails.
type boundedStore struct {
	store.Store
	rt       *Runtime
	deadline context.Context
}

// Begin implements store.Store.
func (s boundedStore) Begin(ctx context.Context) (*txn.Txn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.deadline, cancel)()
	t, err := s.Store.Begin(ctx)
	if err == nil {
		t.CutAfter(s.deadline)
	}
	return t, err
}

// Commit implements store.Store. The events of a consumer without a sink are local.
func (s boundedStore) Commit(ctx context.Context, t *txn.Txn, events []outbox.Row) error {
	if s.rt.Sink == nil {
		for i := range events { // nothing here would publish them
			events[i].Event.Local = true
		}
	}
	err := s.Store.Commit(ctx, t, events)
	if err == nil && len(events) > 0 {
		s.rt.stranded.Look(ctx, s.rt.Logger, s.Store.Operations().Subscriptions, s.rt.Beside, events)
	}
	return err
}
