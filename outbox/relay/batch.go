package relay

import (
	"context"
	"time"

	"github.com/headrace/headrace/internal/drain"
	"github.com/headrace/headrace/internal/outboxread"
	"github.com/headrace/headrace/internal/publish"
	"github.com/headrace/headrace/store/txn"
)

// storeTimeout bounds the statements that read a batch, and those that record its result,
// which run even while the relay stops.
const storeTimeout = 30 * time.Second

// batch is the rows that one transaction takes from one shard.
type batch struct {
	*line
	shard int
	after int64
	probe bool

	*outboxread.Batch
	run *publish.Run
}

func (b *batch) work(ctx context.Context) (_ drain.Result, err error) {
	t, err := b.begin(ctx)
	if t == nil {
		return drain.Result{Skipped: err == nil}, err
	}
	defer func() { outboxread.End(t, err) }() // t is the transaction that is open then
	if b.withoutTx {
		t.Rollback()
	}
	b.run = b.publisher.Run(ctx, b.life, b.shard, b.Batch, b.probe)
	s := b.settlement()
	if s.empty() {
		return b.result(s), nil
	}
	recording, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.storeTimeout)
	defer cancel()
	if b.withoutTx {
		again, err := b.again(recording, s)
		if err != nil {
			return drain.Result{}, err
		}
		t = again
	}
	if err := b.settle(recording, t, s); err != nil {
		return drain.Result{}, err
	}
	b.tellParked(s)
	return b.result(s), nil
}

// begin opens the transaction and reads the batch. It returns nil if another process has
// the shard.
func (b *batch) begin(ctx context.Context) (t *txn.Txn, err error) {
	ctx, cancel := context.WithTimeout(ctx, b.storeTimeout)
	defer cancel()
	t, b.Batch, err = b.reader.Open(ctx, b.request())
	return t, err
}

func (b *batch) request() outboxread.Request {
	return outboxread.Request{
		Shard: b.shard, After: b.after,
		// Longer than the run can take, even if both the last call and the last probe hang.
		Idle: 2*(publish.BatchTime+b.o.PublishTimeout) + 10*time.Second,
	}
}

// sinkResult is the batch's result for the state of the sink.
func (b *batch) sinkResult() publish.Result {
	if b.run == nil {
		return publish.Result{}
	}
	return b.run.Result()
}

// result says how far the shard has been processed.
func (b *batch) result(s *settlement) drain.Result {
	r := drain.Result{Rows: len(s.deletes) + len(s.holds), Mark: b.after}
	if n := len(b.Ready); n > 0 {
		r.Mark = b.Ready[n-1].RowID
	}
	if s.left > 0 {
		// The mark stays below the rows that were left.
		r.Mark = s.left - 1
	}
	r.More = r.Rows > 0 && (s.left > 0 || s.heldLeft || b.Full())
	if r.Rows == 0 {
		r.Mark = min(r.Mark, b.after)
	}
	return r
}
