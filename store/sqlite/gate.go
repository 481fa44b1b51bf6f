package sqlite

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/internal/sleep"
)

// SQLite has one writer for each file and no queue for it: a connection that wants the
// write lock tries again and again. Two rules make that fair.
//
// Within the process a gate orders the writers before BEGIN IMMEDIATE, first come first
// served, so that they never poll against each other.
//
// Between processes, a process that commits in a loop would give the others no chance
// (one lock in 5 s was measured). So after burst of nearly continuous writing, the gate
// leaves the file alone for gap, which is longer than the pause between two tries of a
// waiting process (see begin.go). A process that does not write all the time never waits
// for this.
const (
	burst = 25 * time.Millisecond
	gap   = 2 * time.Millisecond
)

// gate orders the writers of this process for one file.
type gate struct {
	file os.FileInfo
	uses int // guarded by gates.mu

	turn    chan struct{} // holds one element while a transaction has the turn
	waiting atomic.Int64  // how many transactions wait for it

	// Used by the transaction that has the turn:
	freed time.Time // when the last transaction ended
	since time.Time // when the current burst began
}

// gates holds one gate for each file that this process has open.
var gates struct {
	mu   sync.Mutex
	open []*gate
}

// gateOf returns the gate of the file at path, for use until close. Two paths to one file
// share a gate. If the file does not exist and create is set, it makes the file.
func gateOf(path string, create bool) (*gate, error) {
	gates.mu.Lock()
	defer gates.mu.Unlock()
	info, err := find(path, create)
	if err != nil {
		return nil, err
	}
	for _, g := range gates.open {
		if os.SameFile(g.file, info) {
			g.uses++
			return g, nil
		}
	}
	// Not while a gate is open: closing a file drops all locks of the process on it.
	if err := checkHeader(path); err != nil {
		return nil, err
	}
	g := &gate{file: info, uses: 1, turn: make(chan struct{}, 1)}
	gates.open = append(gates.open, g)
	return g, nil
}

func (g *gate) close() {
	gates.mu.Lock()
	defer gates.mu.Unlock()
	if g.uses--; g.uses == 0 {
		gates.open = slices.DeleteFunc(gates.open, func(other *gate) bool { return other == g })
	}
}

// enter waits for the turn, in order of arrival, until ctx ends, and then for the gap if
// it is due. The caller leaves the turn once.
func (g *gate) enter(ctx context.Context) (*turn, error) {
	select {
	case g.turn <- struct{}{}: // waiting senders are served in order
	default:
		g.waiting.Add(1)
		defer g.waiting.Add(-1)
		select {
		case g.turn <- struct{}{}:
		case <-ctx.Done():
			return nil, waited(ctx, nil, true)
		}
	}
	t := &turn{gate: g}
	if err := g.leaveGap(ctx); err != nil {
		t.leave(false)
		return nil, err
	}
	return t, nil
}

func (g *gate) leaveGap(ctx context.Context) error {
	now := time.Now()
	rest := gap - now.Sub(g.freed)
	if rest > 0 && now.Sub(g.since) < burst {
		return nil
	}
	if rest > 0 && !sleep.For(ctx, rest) {
		return waited(ctx, nil, false)
	}
	g.since = time.Now()
	return nil
}

// turn is the right to write. The holder leaves it only after the transaction has really
// ended; otherwise the next one would meet the old lock in BEGIN.
type turn struct {
	gate *gate
	left atomic.Bool
}

// leave gives the turn to the next; a second call does nothing. wrote says that
// the write lock was held.
func (t *turn) leave(wrote bool) {
	if !t.left.CompareAndSwap(false, true) {
		return
	}
	if wrote {
		t.gate.freed = time.Now()
	}
	<-t.gate.turn
}

// waited is the error of a wait for the write lock that ctx ended. busy is the last error
// from SQLite, or nil. here says that a transaction of this process has the lock.
func waited(ctx context.Context, busy error, here bool) error {
	if busy == nil || ctx.Err() == context.Canceled {
		busy = ctx.Err()
	}
	if ctx.Err() == context.Canceled {
		return fmt.Errorf("wait for the write lock: %w", context.Cause(ctx))
	}
	return &lockedError{busy, here}
}

// lockedError says that the write lock was not available in time. txn.Classify reads its
// code and makes it txn.LockTimeout.
type lockedError struct {
	cause error
	here  bool
}

func (e *lockedError) Error() string {
	if e.here {
		return "wait for the write lock, which a transaction of this process holds (a handler that writes through Store.DB, or another pool, waits for its own transaction: use its Tx): " + e.cause.Error()
	}
	return "wait for the write lock: " + e.cause.Error()
}

func (e *lockedError) Unwrap() error { return e.cause }

// Code is SQLITE_BUSY.
func (e *lockedError) Code() int { return 5 }
