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
// already.
func (r *Run) Finish() error {
	defer r.end()
	defer r.rt.running.Store(false)
	began := time.Now()
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
	hung := r.endWork()
	if !within(&r.calls, Grace) {
		err = errors.Join(err, fmt.Errorf("handlers still run: %s: %w (%s)", r.rt.left.Names(), ErrDrainTimeout, r.rt.DrainTimeout))
	}
	if !within(&r.Taken, Grace) {
		err = errors.Join(err, errTaken)
	}
	r.unsubscribe()
	r.nacks.Wait()
	r.instance.end(hung == nil)
	return errors.Join(err, hung, r.leaveRelay(began), r.closeGauges(), r.alerts.Close())
}

// endWork waits for the batches and the backlog's drain, within the time limits of a
// stop.
func (r *Run) endWork() error {
	if within(&r.workers, r.rt.DrainTimeout) {
		return nil
	}
	r.cancel()
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
