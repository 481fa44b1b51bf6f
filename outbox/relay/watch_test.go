package relay_test

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// limits is what a relay has asked a store for.
type limits struct {
	mu     sync.Mutex
	rows   []int
	afters []int64
	idle   time.Duration
}

func (l *limits) all() []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.rows)
}

// limited is the real store; it remembers what it was asked for.
type limited struct {
	*watched
	limits *limits
}

func (l *limited) Outbox() store.Outbox {
	seen := limitedOutbox{l.watched.Outbox(), l.limits}
	if _, single := seen.Outbox.(outbox.SingleWriter); single {
		return singleWriter{seen}
	}
	return seen
}

type limitedOutbox struct {
	store.Outbox
	limits *limits
}

type singleWriter struct{ limitedOutbox }

func (singleWriter) SingleWriter() {}

func (l limitedOutbox) Read(ctx context.Context, t *txn.Txn, shard int, after int64, limit int) ([]outbox.Row, error) {
	l.limits.mu.Lock()
	l.limits.rows = append(l.limits.rows, limit)
	l.limits.afters = append(l.limits.afters, after)
	l.limits.mu.Unlock()
	return l.Outbox.Read(ctx, t, shard, after, limit)
}

func (l limitedOutbox) LockShard(ctx context.Context, t *txn.Txn, shard int, idle time.Duration) (bool, error) {
	l.limits.mu.Lock()
	l.limits.idle = idle
	l.limits.mu.Unlock()
	return l.Outbox.LockShard(ctx, t, shard, idle)
}
