package group

import (
	"context"
	"fmt"
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/internal/drain"
	"github.com/headrace/headrace/store/txn"
)

// leased returns those of items that are for leased handlers, and who leases them.
func (l *Line) leased(items []backlog.Item) (rows []int64, leasers map[*leaser]bool) {
	for i := range items {
		e := l.engines[items[i].Handler]
		if e == nil || e.leaser == nil {
			continue
		}
		if leasers == nil {
			leasers = make(map[*leaser]bool)
		}
		rows = append(rows, items[i].RowID)
		leasers[e.leaser] = true
	}
	return rows, leasers
}

// divert takes rows off the ready line, so that a leased handler whose slots are all
// taken stands in nobody's way.
func (l *Line) divert(ctx context.Context, t *txn.Txn, rows []int64, leasers map[*leaser]bool) (*batch, drain.Result, error) {
	if err := l.st.Backlog().Leases.Divert(ctx, t, rows); err != nil {
		return nil, drain.Result{}, err
	}
	if err := l.st.Commit(ctx, t, nil); err != nil {
		return nil, drain.Result{}, fmt.Errorf("divert to leased handlers: %w", err)
	}
	for leaser := range leasers {
		leaser.nudge()
	}
	return nil, drain.Result{Rows: len(rows), More: true}, nil
}

// recallEvery is how often rows are looked for that a handler left when it was leased.
const recallEvery = 30 * time.Second

// Recall brings the rows of handlers that were leased once, and are not any more, back
// onto the line, until the consumer is told to stop. Their leases end by themselves.
func (l *Line) Recall() {
	for {
		for _, e := range l.engines {
			if e.leaser == nil {
				_ = l.recall(e.h) // what fails is done the next time
			}
		}
		if !sleep(l.soft, recallEvery) {
			return
		}
	}
}

// recall looks for the rows of h, and writes only where there are some.
func (l *Line) recall(h *Handler) error {
	ctx, cancel := context.WithTimeout(l.soft, l.o.Patience)
	defer cancel()
	found, _, err := l.st.Backlog().Leases.Look(ctx, h.Consumer, h.Name)
	if err != nil || !found {
		return err
	}
	t, err := l.st.Begin(ctx)
	if err != nil {
		return err
	}
	defer t.Rollback()
	if _, err := l.st.Backlog().Leases.Recall(ctx, t, h.Consumer, h.Name, promoteLimit); err != nil {
		return err
	}
	if err := l.st.Commit(ctx, t, nil); err != nil {
		return err
	}
	l.st.Backlog().Signals.Wake(l.consumer)
	return nil
}
