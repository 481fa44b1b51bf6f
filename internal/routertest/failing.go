package routertest

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// Failing is a store that fails on command. A real database does not lose the answer
// to the one COMMIT that a test means; everything else is the real store.
type Failing struct {
	store.Store
	counts
}

// Begin implements store.Store.
func (f *Failing) Begin(ctx context.Context) (*txn.Txn, error) {
	if f.down.Load() {
		return nil, fmt.Errorf("no database: %w", io.ErrUnexpectedEOF)
	}
	return f.Store.Begin(ctx)
}

// Ping implements store.Store.
func (f *Failing) Ping(ctx context.Context) error {
	if f.down.Load() {
		return fmt.Errorf("no database: %w", io.ErrUnexpectedEOF)
	}
	return f.Store.Ping(ctx)
}

// Down makes the store unreachable, or reachable again.
func (f *Failing) Down(down bool) { f.down.Store(down) }

// Swallow makes the next n commits happen and go unanswered.
func (f *Failing) Swallow(n int64) { f.swallow.Store(n) }

// Refuse makes the next n commits not happen, with err.
func (f *Failing) Refuse(n int64, err error) {
	f.why.Store(&err)
	f.refuse.Store(n)
}

// Commits counts the transactions that were to be committed.
func (f *Failing) Commits() int64 { return f.commits.Load() }

type counts struct {
	down                     atomic.Bool
	swallow, refuse, commits atomic.Int64
	why                      atomic.Pointer[error]
}

// Commit implements store.Store.
func (f *Failing) Commit(ctx context.Context, t *txn.Txn, events []outbox.Row) error {
	f.commits.Add(1)
	if f.refuse.Load() > 0 && f.refuse.Add(-1) >= 0 {
		t.Rollback()
		return *f.why.Load()
	}
	err := f.Store.Commit(ctx, t, events)
	if err == nil && f.swallow.Load() > 0 && f.swallow.Add(-1) >= 0 {
		return txn.ErrCommitUnknown
	}
	return err
}
