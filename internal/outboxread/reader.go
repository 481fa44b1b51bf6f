package outboxread

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// Reader reads batches. It is safe for concurrent use.
type Reader struct {
	Store store.Transactor
	// Outbox is what is read: a store's outbox, or a line.
	Outbox outbox.Store
	// Cut cuts the connections of the transactions when it ends; nil if Store does so.
	Cut context.Context
	// Bytes and Rows bound a batch: its payloads, approximately, and its rows.
	Bytes, Rows int

	// each estimates the bytes that the next row needs in memory. It rises at once and
	// falls slowly, so that payloads of mixed sizes are read in small batches.
	each atomic.Uint64
}

// Request says what to read.
type Request struct {
	Shard int
	After int64 // see outbox.Store.Read
	// Idle is how long the transaction may idle.
	Idle time.Duration
}

// Begin begins a transaction.
func (r *Reader) Begin(ctx context.Context) (*txn.Txn, error) {
	t, err := r.Store.Begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	if r.Cut != nil {
		t.CutAfter(r.Cut)
	}
	return t, nil
}

// End ends t if it is still open. If the error may mean that the connection does not
// answer, it does not roll back, which could wait forever.
func End(t *txn.Txn, err error) {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || txn.Classify(err) == txn.Connection {
		t.Discard()
	} else {
		t.Rollback()
	}
}

// Open begins a transaction, takes the lock and reads a batch. It returns nil if another
// process has the lock.
func (r *Reader) Open(ctx context.Context, q Request) (*txn.Txn, *Batch, error) {
	t, err := r.Begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	b, err := r.read(ctx, t, q)
	if b == nil {
		End(t, err)
		return nil, nil, err
	}
	return t, b, nil
}

func (r *Reader) read(ctx context.Context, t *txn.Txn, q Request) (*Batch, error) {
	// A statement of its own, so that the next ones see the commits of the previous holder.
	if ok, err := r.Outbox.LockShard(ctx, t, q.Shard, q.Idle); err != nil || !ok {
		return nil, err
	}
	b, err := r.ReadHeld(ctx, t, q, r.limit())
	if err != nil {
		return nil, err
	}
	// One limit for both, so that payloads do not add up.
	if err := r.ReadReady(ctx, t, q, b, b.Limit-len(b.Held)); err != nil {
		return nil, err
	}
	r.learn(b)
	return b, nil
}

// ReadHeld reads at most limit held rows as a batch, and the orders with held rows.
func (r *Reader) ReadHeld(ctx context.Context, t *txn.Txn, q Request, limit int) (*Batch, error) {
	blocks, err := r.Outbox.Blocked(ctx, t, q.Shard)
	if err != nil {
		return nil, err
	}
	b := &Batch{Blocks: make(map[outbox.Order]int64, len(blocks)), Limit: limit}
	for _, block := range blocks {
		b.Blocks[block.Order] = block.First
	}
	b.Held, err = r.Outbox.ReadHeld(ctx, t, q.Shard, limit)
	return b, err
}

// ReadReady adds at most limit ready rows to b.
func (r *Reader) ReadReady(ctx context.Context, t *txn.Txn, q Request, b *Batch, limit int) (err error) {
	if limit > 0 {
		b.Ready, err = r.Outbox.Read(ctx, t, q.Shard, q.After, limit)
	}
	return err
}

const (
	// rowBytes is the approximate size of a row without its payload.
	rowBytes = 512
	// firstRows is how many rows are read before the size is known.
	firstRows = 64
)

// limit is how many rows to read.
func (r *Reader) limit() int {
	each := math.Float64frombits(r.each.Load())
	if each == 0 {
		return min(firstRows, r.Rows)
	}
	return min(max(int(float64(r.Bytes)/each), 1), r.Rows)
}

// learn updates the estimate with a batch.
func (r *Reader) learn(b *Batch) {
	n := len(b.Held) + len(b.Ready)
	if n == 0 {
		return
	}
	total := n * rowBytes
	for i := range b.Held {
		total += len(b.Held[i].Event.Payload)
	}
	for i := range b.Ready {
		total += len(b.Ready[i].Event.Payload)
	}
	mean := float64(total) / float64(n)
	// Of two concurrent updates one may be lost: it is only an estimate.
	r.each.Store(math.Float64bits(max(mean, 0.8*math.Float64frombits(r.each.Load()))))
}
