package local

import (
	"context"
	"fmt"
	"time"

	"github.com/headrace/headrace/internal/drain"
	"github.com/headrace/headrace/internal/outboxread"
	"github.com/headrace/headrace/internal/outcome"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/store/txn"
)

const (
	// lockTimeout bounds a batch's wait for keys that other transactions hold, and
	// takeTime all its waits for keys and order keys.
	lockTimeout = 200 * time.Millisecond
	takeTime    = 5 * time.Second
)

// handover moves a batch of one shard into the backlog, in one transaction.
type handover struct {
	*Line
	shard int
	after int64
	batch *outboxread.Batch
}

func (h *handover) work(ctx context.Context) (_ drain.Result, err error) {
	t, batch, err := h.reader.Open(ctx, outboxread.Request{Shard: h.shard, After: h.after, Idle: 2 * h.o.StoreTimeout})
	if t == nil {
		return drain.Result{Skipped: err == nil}, err
	}
	defer func() { outboxread.End(t, err) }()
	h.batch = batch
	s := h.choose()
	if s.count() == 0 {
		return h.result(s), nil
	}
	taking, contended, err := h.take(ctx, t, s.tasks)
	if err != nil || contended {
		return drain.Result{Skipped: err == nil}, err
	}
	if taking.Busy {
		h.setAside(taking, s.rows)
		return drain.Result{Mark: h.after, Rows: 1, More: true}, nil // read again, without them
	}
	if err := h.commit(ctx, t, s, taking); err != nil {
		return drain.Result{}, err
	}
	h.settle(s, taking)
	return h.result(s), nil
}

// take puts messages into the backlog, and reports whether it gave up because other
// transactions held the same rows or order keys.
func (h *handover) take(ctx context.Context, t *txn.Txn, tasks []*task.Task) (_ outcome.Intake, contended bool, _ error) {
	ctx, cancel := context.WithTimeout(ctx, takeTime)
	defer cancel()
	taking, err := h.o.Recorder.Intake(ctx, t, outcome.Messages(tasks), outcome.Limits{Lock: lockTimeout})
	switch c := txn.Classify(err); {
	case err == nil:
		return taking, false, nil
	case ctx.Err() != nil:
		t.Discard() // the connection may still be busy with the statement
		return taking, true, nil
	case c == txn.Serialization, c == txn.LockTimeout:
		return taking, true, nil
	}
	return taking, false, err
}

// setAside stores the rows that other transactions work on.
func (h *handover) setAside(taking outcome.Intake, rows []int64) {
	h.busy[h.shard] = make(map[int64]bool)
	for i, what := range taking.Messages {
		if what == outcome.Busy {
			h.busy[h.shard][rows[i]] = true
		}
	}
}

// commit deletes the rows from the line and commits.
func (h *handover) commit(ctx context.Context, t *txn.Txn, s chosen, taking outcome.Intake) error {
	if err := h.outbox.Hold(ctx, t, s.holds); err != nil {
		return fmt.Errorf("hold rows: %w", err)
	}
	if err := h.outbox.Delete(ctx, t, h.shard, s.rows); err != nil {
		return fmt.Errorf("delete rows that were handed over: %w", err)
	}
	if err := h.o.Store.Commit(ctx, t, taking.Copies); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// result says how far the shard has been processed. The mark stays below a row that is
// left, also if it was above: no later row of its order may be read without it.
func (h *handover) result(s chosen) drain.Result {
	r := drain.Result{Mark: h.after, Rows: s.count(), More: h.batch.Full()}
	if n := len(h.batch.Ready); n > 0 {
		r.Mark = h.batch.Ready[n-1].RowID
	}
	if s.left > 0 {
		r.Mark, r.More = s.left-1, true
	}
	return r
}

// settle reports the outcomes, and wakes the backlog.
func (h *handover) settle(s chosen, taking outcome.Intake) {
	wake := false
	for i, t := range s.tasks {
		o := taking.Outcome(i, t)
		wake = wake || o == task.Waiting
		count(t, o)
		h.o.Settled(o)
	}
	if wake {
		h.o.Store.Backlog().Signals.Wake(h.o.Consumer)
	}
	if len(taking.Copies) > 0 {
		h.o.Store.Outbox().Signal().Wake()
	}
}
