package local

import (
	"time"

	"github.com/headrace/headrace/internal/outboxread"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/outbox"
)

// unhandledFor is how long a row is held that has no handler in this process.
const unhandledFor = time.Minute

// unhandled is the error of such a row.
const unhandled = "no process that runs this consumer had a local handler for the topic"

// chosen says what to do with the rows of a batch.
type chosen struct {
	tasks []*task.Task  // to be handed over
	rows  []int64       // theirs
	holds []outbox.Hold // of an order that is held, or without a handler
	left  int64         // the lowest ready row that stays; 0 if none does
}

func (s *chosen) count() int { return len(s.rows) + len(s.holds) }

// choose chooses rows so that none overtakes another of its order.
func (h *handover) choose() (s chosen) {
	busy := h.busy[h.shard]
	h.busy[h.shard] = nil
	waits := make(map[outbox.Order]bool) // orders with a row that is busy or has no handler
	passed := func(r *outbox.Row, ordered bool) bool {
		order := outboxread.OrderOf(r)
		if busy[r.RowID] && ordered {
			waits[order] = true
		}
		return busy[r.RowID] || ordered && waits[order]
	}
	for i := range h.batch.Held {
		r := &h.batch.Held[i]
		ordered := r.Event.OrderKey != "" && r.Reason != outbox.Delayed
		t := h.task(&r.Row)
		switch {
		case t == nil:
			h.holdUnhandled(r, &s, waits, ordered)
		case !passed(&r.Row, ordered):
			s.add(&r.Row, t)
		}
	}
	for i := range h.batch.Ready {
		r := &h.batch.Ready[i]
		order := outboxread.OrderOf(r)
		if _, held := h.batch.Blocks[order]; held && order.Key != "" {
			s.holds = append(s.holds, h.batch.HoldBehind(r))
			continue
		}
		t := h.task(r)
		switch {
		case t == nil:
			h.holdUnhandled(&outbox.HeldRow{Row: *r}, &s, waits, order.Key != "")
			h.batch.Blocks[order] = r.RowID
		case !passed(r, order.Key != ""):
			s.add(r, t)
		case s.left == 0:
			s.left = r.RowID
		}
	}
	return s
}

func (s *chosen) add(r *outbox.Row, t *task.Task) {
	s.tasks, s.rows = append(s.tasks, t), append(s.rows, r.RowID)
}

// holdUnhandled holds a row whose topic has no handler in this process; the later rows of
// its order wait behind it.
func (h *handover) holdUnhandled(r *outbox.HeldRow, s *chosen, waits map[outbox.Order]bool, ordered bool) {
	h.logUnhandled(r.Event.Topic)
	hold := outbox.Hold{Row: r.Row, Reason: outbox.Backoff, Delay: unhandledFor, Attempts: r.Attempts, Error: unhandled}
	order := outboxread.OrderOf(&r.Row)
	switch {
	case r.Reason == outbox.Delayed:
		hold.Reason = outbox.Delayed // it is outside of the order
	case ordered && waits[order]:
		if r.Reason == outbox.Behind {
			return // as it is
		}
		hold.Reason, hold.Delay = outbox.Behind, 0
	case ordered:
		waits[order] = true
	}
	s.holds = append(s.holds, hold)
}
