package consumer

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// The last steps of a stop, each as long as something still runs. When the drain time
// is over, handlers have grace to heed their context, and the statements after them
// bookTime in all; then the connections of open transactions are cut. What does not end
// even then waits for a database, over a connection that the store cannot reach.
const (
	bookTime  = 10 * time.Second
	leaveTime = 5 * time.Second
)

// errHung is the error of a Run that left statements behind.
var errHung = fmt.Errorf("a statement has no answer from the database and does not end; it is left behind: %w", ErrDrainTimeout)

// lastly is a store whose transactions are cut off when the stop has taken its time, and
// which begins none after that.
type lastly struct {
	store.Store
	over context.Context
}

// Begin implements store.Store.
func (s lastly) Begin(ctx context.Context) (*txn.Txn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.over, cancel)()
	t, err := s.Store.Begin(ctx)
	if err == nil {
		t.CutAfter(s.over)
	}
	return t, err
}

// endWork waits for the groups and the backlog's drain, for as long as a stop may take.
func (r *run) endWork() error {
	if within(&r.workers, r.c.config.DrainTimeout) {
		return nil
	}
	r.cut()
	if within(&r.workers, bookTime) {
		return nil
	}
	r.cutOff()
	if within(&r.workers, leaveTime) {
		return nil
	}
	return fmt.Errorf("messages: %w", errHung)
}

// atMost calls f, which should return within limit, and leaves it behind where it does
// not.
func atMost(limit time.Duration, what string, f func() error) error {
	var err error
	var wg sync.WaitGroup
	wg.Go(func() { err = f() })
	if !within(&wg, limit) {
		return fmt.Errorf("%s: %w", what, errHung)
	}
	return err
}
