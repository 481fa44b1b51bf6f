package relay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/internal/drain"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

const (
	// batchTime bounds how long a batch goes on to begin calls of Publish, and with
	// it, and what one call may take, the age of its transaction.
	batchTime = 5 * time.Second
	// bookTime bounds the statements that read a batch, and those that record what was
	// published, which run whatever has been cancelled.
	bookTime = 30 * time.Second
)

// batch is what is taken from one shard in one transaction.
type batch struct {
	*line
	shard int
	after int64
	probe bool

	table *table
	limit int
	held  []outbox.HeldRow
	ready []outbox.Row
	// blocks holds the first held row of each order that has one.
	blocks map[outbox.Order]int64
	round  *round
}

func (b *batch) work(ctx context.Context) (_ drain.Result, err error) {
	t, err := b.begin(ctx)
	if t == nil {
		return drain.Result{Skipped: err == nil}, err
	}
	defer func() { end(t, err) }() // whichever is open then
	if b.apart {
		t.Rollback()
	}
	b.round = newRound(b)
	b.round.run(ctx)
	s := b.settlement()
	if s.empty() {
		return b.result(s), nil
	}
	book, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.book)
	defer cancel()
	if b.apart {
		again, err := b.again(book, s)
		if err != nil {
			return drain.Result{}, err
		}
		t = again
	}
	if err := b.settle(book, t, s); err != nil {
		return drain.Result{}, err
	}
	b.tellParked(s)
	return b.result(s), nil
}

// begin opens the transaction and reads the batch. It returns nil where another
// process holds the shard.
func (b *batch) begin(ctx context.Context) (*txn.Txn, error) {
	ctx, cancel := context.WithTimeout(ctx, b.book)
	defer cancel()
	t, err := begin(ctx, b.store, b.over)
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	if ok, err := b.read(ctx, t); err != nil || !ok {
		end(t, err)
		return nil, err
	}
	return t, nil
}

// begin begins a transaction whose connection is cut when over ends.
func begin(ctx context.Context, st Store, over context.Context) (*txn.Txn, error) {
	t, err := st.Begin(ctx)
	if err == nil {
		t.CutAfter(over)
	}
	return t, err
}

// end ends t if it is still open. After an error that may mean that the connection
// does not answer, a rollback could wait for ever.
func end(t *txn.Txn, err error) {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || txn.Classify(err) == txn.Connection {
		t.Discard()
	} else {
		t.Rollback()
	}
}

// idle is how long the transaction may idle: longer than its round can take, where
// both its last call and the last one to make sure may hang.
func (b *batch) idle() time.Duration { return 2*(batchTime+b.o.PublishTimeout) + 10*time.Second }

// read locks the shard and reads the batch, each in a statement of its own, so that
// what the holder before committed is seen. It reports whether the shard was free.
func (b *batch) read(ctx context.Context, t *txn.Txn) (bool, error) {
	o := b.store.Outbox()
	ok, err := o.LockShard(ctx, t, b.shard, b.idle())
	if err != nil {
		return false, fmt.Errorf("lock: %w", err)
	}
	if !ok {
		return false, nil
	}
	b.limit = b.size.rows(b.o.BatchBytes, b.o.BatchRows)
	if err := b.readHeld(ctx, t, b.limit); err != nil {
		return false, err
	}
	// Together no more than the limit, so that payloads do not add up.
	if rest := b.limit - len(b.held); rest > 0 {
		if err := b.readReady(ctx, t, rest); err != nil {
			return false, err
		}
	}
	b.size.learn(b.held, b.ready)
	return true, nil
}

func (b *batch) readHeld(ctx context.Context, t *txn.Txn, limit int) error {
	o := b.store.Outbox()
	blocks, err := o.Blocked(ctx, t, b.shard)
	if err != nil {
		return fmt.Errorf("read blocked orders: %w", err)
	}
	b.blocks = make(map[outbox.Order]int64, len(blocks))
	for _, block := range blocks {
		b.blocks[block.Order] = block.First
	}
	if b.held, err = b.heldRows(ctx, t, limit); err != nil {
		return fmt.Errorf("read held rows: %w", err)
	}
	return nil
}

func (b *batch) readReady(ctx context.Context, t *txn.Txn, limit int) (err error) {
	o := b.store.Outbox()
	if topics := b.table.rest; len(topics.Names) > 0 {
		b.ready, err = o.ReadTopics(ctx, t, b.shard, b.after, limit, topics)
	} else {
		b.ready, err = o.Read(ctx, t, b.shard, b.after, limit)
	}
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	return nil
}

// heldRows reads the held rows that are for the sink.
func (b *batch) heldRows(ctx context.Context, t *txn.Txn, limit int) ([]outbox.HeldRow, error) {
	o := b.store.Outbox()
	if topics := b.table.rest; len(topics.Names) > 0 {
		return o.ReadHeldTopics(ctx, t, b.shard, limit, topics)
	}
	return o.ReadHeld(ctx, t, b.shard, limit)
}

// verdict is what the batch says about the sink.
func (b *batch) verdict() verdict {
	if b.round == nil {
		return verdict{}
	}
	return b.round.verdict()
}

// result says how far the shard has been dealt with.
func (b *batch) result(s *settlement) drain.Result {
	r := drain.Result{Rows: len(s.deletes) + len(s.holds), Mark: b.after}
	if n := len(b.ready); n > 0 {
		r.Mark = b.ready[n-1].RowID
	}
	if s.left > 0 {
		// Rows were left where they stand: the mark stays below them.
		r.Mark = s.left - 1
	}
	r.More = r.Rows > 0 && (s.left > 0 || s.heldLeft || len(b.held)+len(b.ready) >= b.limit)
	if r.Rows == 0 {
		r.Mark = min(r.Mark, b.after)
	}
	return r
}
