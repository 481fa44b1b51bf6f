package local

import (
	"context"
	"fmt"
	"time"

	"github.com/headrace/headrace/internal/drain"
	"github.com/headrace/headrace/internal/outboxread"
	"github.com/headrace/headrace/internal/outcome"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

const (
	// lockTimeout bounds a batch's wait for keys that other transactions hold, and
	// takeTime all its waits for keys and order keys.
	lockTimeout = 200 * time.Millisecond
	takeTime    = 5 * time.Second
)

// handover moves a batch of one shard into backlogs, in one transaction.
type handover struct {
	*Line
	shard  int
	after  int64
	routes Routes
	batch  *outboxread.Batch
}

func (h *handover) work(ctx context.Context) (_ drain.Result, err error) {
	t, batch, err := h.o.Reader.Open(ctx, outboxread.Request{
		Shard: h.shard, After: h.after, Topics: h.routes.Local(),
		// A lock of its own: it touches no row that the sink's batches touch.
		Lock: outbox.Shards + h.shard, Idle: 2 * h.o.StoreTimeout,
	})
	if t == nil {
		return drain.Result{Skipped: err == nil}, err
	}
	defer func() { outboxread.End(t, err) }()
	h.batch = batch
	s := h.choose()
	if len(s.rows) == 0 && len(s.holds) == 0 {
		return h.result(s), nil
	}
	messages, origin := h.messages(s.rows)
	taking, contended, err := h.take(ctx, t, messages)
	if err != nil || contended {
		return drain.Result{Skipped: err == nil}, err
	}
	if taking.Busy {
		h.setAside(taking, origin)
		return drain.Result{Mark: h.after, Rows: 1, More: true}, nil // read again, without them
	}
	if err := h.commit(ctx, t, s, taking); err != nil {
		return drain.Result{}, err
	}
	Wake(h.o.Store, messages, taking)
	h.tell(messages, taking)
	return h.result(s), nil
}

// take puts messages into the backlogs, and reports whether it gave up because other
// transactions held the same rows or order keys.
func (h *handover) take(ctx context.Context, t *txn.Txn, messages []outcome.Message) (_ outcome.Intake, contended bool, _ error) {
	ctx, cancel := context.WithTimeout(ctx, takeTime)
	defer cancel()
	taking, err := h.o.Recorder.Intake(ctx, t, messages, outcome.Limits{Lock: lockTimeout})
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

// chosen says what to do with the rows of a batch.
type chosen struct {
	rows  []*outbox.Row // to be handed over
	holds []outbox.Hold // ready rows of an order that is held
	left  int64         // the lowest ready row that stays; 0 if none does
}

// choose chooses rows so that none overtakes another of its order.
func (h *handover) choose() (s chosen) {
	busy := h.busy[h.shard]
	h.busy[h.shard] = nil
	waits := make(map[outbox.Order]bool) // orders with a busy row
	passed := func(r *outbox.Row, ordered bool) bool {
		order := outboxread.OrderOf(r)
		if busy[r.RowID] && ordered {
			waits[order] = true
		}
		return busy[r.RowID] || ordered && waits[order]
	}
	for i := range h.batch.Held {
		r := &h.batch.Held[i]
		if !passed(&r.Row, r.Event.OrderKey != "" && r.Reason != outbox.Delayed) {
			s.rows = append(s.rows, &r.Row)
		}
	}
	for i := range h.batch.Ready {
		r := &h.batch.Ready[i]
		order := outboxread.OrderOf(r)
		_, held := h.batch.Blocks[order]
		switch {
		case order.Key != "" && held:
			s.holds = append(s.holds, h.batch.HoldBehind(r))
		case passed(r, order.Key != ""):
			if s.left == 0 {
				s.left = r.RowID
			}
		default:
			s.rows = append(s.rows, r)
		}
	}
	return s
}

// messages returns the messages that the routes make of rows, and the row of each.
func (h *handover) messages(rows []*outbox.Row) (messages []outcome.Message, origin []int64) {
	for _, r := range rows {
		for _, m := range h.routes.Messages(r) {
			messages, origin = append(messages, m), append(origin, r.RowID)
		}
	}
	return messages, origin
}

// setAside stores the rows that other transactions work on.
func (h *handover) setAside(taking outcome.Intake, origin []int64) {
	h.busy[h.shard] = make(map[int64]bool)
	for i, what := range taking.Messages {
		if what == outcome.Busy {
			h.busy[h.shard][origin[i]] = true
		}
	}
}

// commit deletes the rows from the outbox and commits.
func (h *handover) commit(ctx context.Context, t *txn.Txn, s chosen, taking outcome.Intake) error {
	o := h.o.Store.Outbox()
	if err := o.Hold(ctx, t, s.holds); err != nil {
		return fmt.Errorf("hold rows of held orders: %w", err)
	}
	rows := make([]int64, len(s.rows))
	for i, r := range s.rows {
		rows[i] = r.RowID
	}
	if err := o.Delete(ctx, t, h.shard, rows); err != nil {
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
	r := drain.Result{Mark: h.after, Rows: len(s.rows) + len(s.holds), More: h.batch.Full()}
	if n := len(h.batch.Ready); n > 0 {
		r.Mark = h.batch.Ready[n-1].RowID
	}
	if s.left > 0 {
		r.Mark, r.More = s.left-1, true
	}
	return r
}

// tell logs new dead letters; never their key or payload.
func (h *handover) tell(messages []outcome.Message, taking outcome.Intake) {
	for i, what := range taking.Messages {
		if what != outcome.Conflict && what != outcome.Dead {
			continue
		}
		m := &messages[i].Item
		reason := "no handler can take it"
		if what == outcome.Conflict {
			reason = "its key was used before with other content"
		}
		h.o.Logger.Warn("relay: an event that a route delivers became a dead letter",
			"topic", m.Delivery.Topic, "consumer", m.Consumer, "handler", m.Handler, "reason", reason)
	}
}

// Wake wakes the consumers that have new messages.
func Wake(st Store, messages []outcome.Message, taking outcome.Intake) {
	woken := make(map[string]bool)
	for i := range messages {
		if name := messages[i].Item.Consumer; taking.Messages[i] == outcome.Taken && !woken[name] {
			woken[name] = true
			st.Backlog().Signals.Wake(name)
		}
	}
	if len(taking.Copies) > 0 {
		st.Outbox().Signal().Wake()
	}
}
