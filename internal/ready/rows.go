package ready

import (
	"context"
	"fmt"
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/internal/drain"
	"github.com/headrace/headrace/internal/sleep"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// Store is the part of a store.Store that Rows need.
type Store interface {
	store.Transactor
	Backlog() backlog.Tables
}

// Rows are the rows of a consumer's backlog. Its methods may be called concurrently.
type Rows struct {
	Store    Store
	Consumer string
	Handlers []*task.Handler
	// Timeout bounds the statements of one call.
	Timeout time.Duration
}

// promoteLimit bounds the rows that one statement makes ready.
const promoteLimit = 1000

// Poll implements a method of drain.Line. It writes only if rows have become due.
func (r *Rows) Poll(ctx context.Context, marks []int64) (drain.Polled, error) {
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	backlog := r.Store.Backlog()
	found, err := backlog.Poll(ctx, r.Consumer, marks)
	if err == nil && found.Due {
		err = store.Transact(ctx, r.Store, func(t *txn.Txn) error {
			_, err := backlog.Promote(ctx, t, r.Consumer, promoteLimit)
			return err
		})
		if err == nil {
			found, err = backlog.Poll(ctx, r.Consumer, marks)
		}
	}
	if err != nil {
		return drain.Polled{}, fmt.Errorf("poll backlog: %w", err)
	}
	if found.Due {
		found.Next = time.Millisecond
	}
	return drain.Polled{Shards: found.Shards, Next: found.Next}, nil
}

// tidyEvery is how often Tidy looks.
const tidyEvery = 30 * time.Second

// Tidy makes rows ready that would otherwise stay forever, until stopping ends: those of
// handlers that are no longer leased, and blocked rows without an earlier row.
func (r *Rows) Tidy(stopping context.Context) {
	for {
		if r.TidyOnce(stopping) {
			r.Store.Backlog().Signals.Wake(r.Consumer)
		}
		if !sleep.For(stopping, tidyEvery) {
			return
		}
	}
}

// TidyOnce is one round of Tidy, and reports whether it found rows. After a failure, the
// next round does the work.
func (r *Rows) TidyOnce(ctx context.Context) (found bool) {
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	backlog := r.Store.Backlog()
	for _, h := range r.Handlers {
		if h.Leased != nil {
			continue
		}
		if some, _, err := backlog.Leases.Look(ctx, r.Consumer, h.Name); err != nil || !some {
			continue
		}
		found = store.Transact(ctx, r.Store, func(t *txn.Txn) error {
			_, err := backlog.Leases.MoveBack(ctx, t, r.Consumer, h.Name, promoteLimit)
			return err
		}) == nil || found
	}
	_ = store.Transact(ctx, r.Store, func(t *txn.Txn) error {
		n, err := backlog.Order.Sweep(ctx, t, r.Consumer, promoteLimit)
		found = found || n > 0
		return err
	})
	return found
}
