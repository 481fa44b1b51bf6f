package relay

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/internal/drain"
	"github.com/headrace/headrace/internal/intake"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

// handover is a batch of one shard on its way into backlogs, in one transaction.
type handover struct {
	*local
	shard int
	after int64
	table *table

	held   []outbox.HeldRow
	ready  []outbox.Row
	blocks map[outbox.Order]int64
	full   bool // as many rows as were asked for
}

func (h *handover) work(ctx context.Context) (_ drain.Result, err error) {
	t, err := begin(ctx, h.store, h.over)
	if err != nil {
		return drain.Result{}, fmt.Errorf("begin: %w", err)
	}
	defer func() { end(t, err) }()
	ok, err := h.read(ctx, t)
	if err != nil || !ok {
		return drain.Result{Skipped: err == nil}, err
	}
	s := h.choose()
	if len(s.rows) == 0 && len(s.holds) == 0 {
		h.settled(s)
		return drain.Result{}, nil
	}
	messages, origin := h.messages(s.rows)
	taking, contended, err := h.take(ctx, t, messages)
	if err != nil || contended {
		return drain.Result{Skipped: err == nil}, err
	}
	if taking.Busy {
		h.setAside(taking, origin)
		return drain.Result{Rows: 1, More: true}, nil // again, without them
	}
	if err := h.commit(ctx, t, s, taking); err != nil {
		return drain.Result{}, err
	}
	h.settled(s)
	h.wake(messages, taking)
	h.tell(messages, taking)
	return drain.Result{Rows: len(s.rows) + len(s.holds), More: h.full && s.left == 0}, nil
}

// take takes messages in, and reports whether it had to give way because others worked
// on the same rows or order keys for so long, or in such an order.
func (h *handover) take(ctx context.Context, t *txn.Txn, messages []intake.Message) (_ intake.Taking, contended bool, _ error) {
	ctx, cancel := context.WithTimeout(ctx, takeTime)
	defer cancel()
	taking, err := h.intake.Take(ctx, t, messages)
	switch c := txn.Classify(err); {
	case err == nil:
		return taking, false, nil
	case ctx.Err() != nil:
		t.Discard() // the connection may be busy with the statement still
		return taking, true, nil
	case c == txn.Serialization, c == txn.LockTimeout:
		return taking, true, nil
	}
	return taking, false, err
}

// read locks the shard and reads the batch, each in a statement of its own.
func (h *handover) read(ctx context.Context, t *txn.Txn) (bool, error) {
	o := h.store.Outbox()
	ok, err := o.LockShard(ctx, t, lockOf(h.shard), 2*h.book)
	if err != nil || !ok {
		return false, err
	}
	limit := h.local.size.rows(h.o.BatchBytes, h.o.BatchRows)
	blocks, err := o.Blocked(ctx, t, h.shard)
	if err != nil {
		return false, err
	}
	h.blocks = make(map[outbox.Order]int64, len(blocks))
	for _, block := range blocks {
		h.blocks[block.Order] = block.First
	}
	if h.held, err = o.ReadHeldTopics(ctx, t, h.shard, limit, h.table.local); err != nil {
		return false, err
	}
	if rest := limit - len(h.held); rest > 0 {
		if h.ready, err = o.ReadTopics(ctx, t, h.shard, h.after, rest, h.table.local); err != nil {
			return false, err
		}
	}
	h.full = len(h.held)+len(h.ready) >= limit
	h.local.size.learn(h.held, h.ready)
	return true, nil
}

// chosen is what a batch does with its rows.
type chosen struct {
	rows  []*outbox.Row // to be handed over
	holds []outbox.Hold // ready rows of an order that is held
	left  int64         // the lowest ready row that stays where it stands; 0 if none does
}

// choose keeps the rules of held rows and of orders: none is overtaken.
func (h *handover) choose() (s chosen) {
	busy := h.busy[h.shard]
	h.busy[h.shard] = nil
	waits := make(map[outbox.Order]bool) // behind a busy row
	passed := func(r *outbox.Row, ordered bool) bool {
		order := outbox.Order{Topic: r.Event.Topic, Key: r.Event.OrderKey}
		if busy[r.RowID] && ordered {
			waits[order] = true
		}
		return busy[r.RowID] || ordered && waits[order]
	}
	for i := range h.held {
		r := &h.held[i]
		if !passed(&r.Row, r.Event.OrderKey != "" && r.Reason != outbox.Delayed) {
			s.rows = append(s.rows, &r.Row)
		}
	}
	for i := range h.ready {
		r := &h.ready[i]
		order := outbox.Order{Topic: r.Event.Topic, Key: r.Event.OrderKey}
		_, held := h.blocks[order]
		switch {
		case order.Key != "" && held:
			s.holds = append(s.holds, holdBehind(h.blocks, r))
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

// messages returns what the routes make of rows, and of which row each is.
func (h *handover) messages(rows []*outbox.Row) (messages []intake.Message, origin []int64) {
	for _, r := range rows {
		for _, m := range h.table.messages(r) {
			messages, origin = append(messages, m), append(origin, r.RowID)
		}
	}
	return messages, origin
}

// setAside remembers the rows that others work on, and has the shard read again.
func (h *handover) setAside(taking intake.Taking, origin []int64) {
	h.busy[h.shard] = make(map[int64]bool)
	for i, outcome := range taking.Outcomes {
		if outcome == intake.Busy {
			h.busy[h.shard][origin[i]] = true
		}
	}
	h.reached(h.shard, h.after, true)
}

// commit takes the rows out of the outbox and commits.
func (h *handover) commit(ctx context.Context, t *txn.Txn, s chosen, taking intake.Taking) error {
	o := h.store.Outbox()
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
	if err := h.store.Commit(ctx, t, taking.Copies); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// settled says how far the ready rows have been dealt with.
func (h *handover) settled(s chosen) {
	switch n := len(h.ready); {
	case s.left > 0:
		h.reached(h.shard, s.left-1, true)
	case n > 0:
		h.reached(h.shard, h.ready[n-1].RowID, h.full)
	}
}

// tell logs what became a dead letter; never its key or payload.
func (h *handover) tell(messages []intake.Message, taking intake.Taking) {
	for i, outcome := range taking.Outcomes {
		if outcome != intake.Conflict && outcome != intake.Dead {
			continue
		}
		m := &messages[i].Item
		reason := "no handler can be given it"
		if outcome == intake.Conflict {
			reason = "its key was used before with other content"
		}
		h.o.Logger.Warn("relay: an event that a route delivers became a dead letter",
			"topic", m.Delivery.Topic, "consumer", m.Consumer, "handler", m.Handler, "reason", reason)
	}
}
