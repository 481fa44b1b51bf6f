package relay

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/headrace/headrace/internal/drain"
	"github.com/headrace/headrace/internal/shard"
	"github.com/headrace/headrace/outbox"
)

// local is the part of the outbox that routes take to consumers of the same database.
// It has a drain, and locks, of its own, so that neither the sink nor its outage holds
// it up. It keeps its own marks, because it steps over the rows of other topics, which
// stay where they are.
type local struct {
	*Relay
	over context.Context // of the transactions
	size size

	mu       sync.Mutex
	marks    [shard.Count]int64
	low      [shard.Count]bool // the next batch begins at the bottom
	bottomAt time.Time
	// busy holds for each shard the rows that others were working on at the last try.
	// It belongs to whoever works on the shard.
	busy [shard.Count]map[int64]bool
}

// The pause between two looks at the bottom, which walk over the rows of other topics:
// ten times what one cost, within these bounds.
const (
	leastBottom = 100 * time.Millisecond
	mostBottom  = 5 * time.Second
	slowBottom  = 10
)

// lockOf is the number of the lock of a shard for local delivery: it touches no row that
// the sink's batches touch.
func lockOf(shard int) int { return outbox.Shards + shard }

// Poll implements drain.Line.
func (l *local) Poll(ctx context.Context, _ []int64) (drain.Polled, error) {
	topics := l.routes.Load().local
	if len(topics.Names) == 0 {
		return drain.Polled{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, l.book)
	defer cancel()
	start := time.Now()
	marks, bottom := l.from(start)
	p, tops, err := l.store.Outbox().PollTopics(ctx, marks, topics)
	if err != nil {
		return drain.Polled{}, fmt.Errorf("relay: poll for routes: %w", err)
	}
	l.learn(p.Shards, tops, bottom, time.Since(start))
	return drain.Polled{Shards: p.Shards, Next: p.Next}, nil
}

// from returns the marks to poll with, and whether they are the bottom.
func (l *local) from(now time.Time) ([]int64, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !now.Before(l.bottomAt) {
		return make([]int64, shard.Count), true
	}
	marks := l.marks
	return marks[:], false
}

// learn moves the marks of the shards where nothing was found.
func (l *local) learn(found []int, tops []int64, bottom bool, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var has [shard.Count]bool
	for _, i := range found {
		has[i] = true
		l.low[i] = l.low[i] || bottom
	}
	for i := range l.marks {
		if !has[i] {
			l.marks[i] = max(l.marks[i], tops[i])
		}
	}
	if bottom {
		l.bottomAt = time.Now().Add(min(max(slowBottom*took, leastBottom), mostBottom))
	}
}

// begins returns the RowID above which the next batch of shard begins.
func (l *local) begins(shard int) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.low[shard] {
		l.low[shard] = false
		return 0
	}
	return l.marks[shard]
}

// reached moves the mark of shard. Where more stands above it, it may go back: rows
// may stand between a batch from the bottom and the mark.
func (l *local) reached(shard int, mark int64, more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if more || mark > l.marks[shard] {
		l.marks[shard] = mark
	}
}

// Work implements drain.Line: one batch, in one transaction.
func (l *local) Work(ctx context.Context, shard int, _ int64) (drain.Result, error) {
	b := &handover{local: l, shard: shard, after: l.begins(shard), table: l.routes.Load()}
	// What was begun is finished, also when the relay stops.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.book)
	defer cancel()
	result, err := b.work(ctx)
	if err != nil {
		return drain.Result{}, fmt.Errorf("relay: routes: shard %d: %w", shard, err)
	}
	return result, nil
}

var _ drain.Line = (*local)(nil)
