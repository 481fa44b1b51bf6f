package redrive

import (
	"context"
	"fmt"
	"slices"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/store/txn"
)

// change is what a decision does to letters, in one transaction.
type change struct {
	st     Store
	to     dlq.State
	audit  dlq.Audit // the row to write for each letter, without its id
	newKey string    // of the one letter; or ""
	// openCalls discards letters with open calls, too.
	openCalls bool
	// consumer is that of letters that are restored.
	consumer string
	// apply makes the other changes of the decision. Letters that it refuses stay open: all is
	// undone and repeated without them.
	apply func(c *change, ctx context.Context, t *txn.Txn, letters []dlq.Letter) (refused []Skip, err error)
	// items returns the backlog rows of letters.
	items func([]dlq.Letter) []backlog.Item
}

// maxAudit bounds Audit.By and Audit.Reason, in bytes.
const maxAudit = 1 << 10

func auditOf(action, by, reason string) dlq.Audit {
	return dlq.Audit{Action: action, By: encode.Text(by, maxAudit), Reason: encode.Text(reason, maxAudit)}
}

// Part is a part of a decision, in a transaction that does more.
type Part struct {
	// IDs are the letters.
	IDs []int64
	// By and Reason go into the audit trail.
	By, Reason string
	// RedriveID is the redrive that the decision belongs to; 0 for none.
	RedriveID int64
	// Look is called with the open letters of IDs before anything is changed but their state, and
	// again without those that were refused; nil refuses none. A letter that it refuses stays open.
	Look func(letters []dlq.Letter) (refused []Skip, err error)
	// Items returns the backlog rows of letters; nil means Items.
	Items func(letters []dlq.Letter) []backlog.Item
	// NewKey is the key under which RedriveIn sends the one letter of IDs: see Request.NewKey.
	NewKey string
	// OpenCalls lets DiscardIn end letters with open calls: see Request.OpenCalls.
	OpenCalls bool
}

// RedriveIn redrives letters in t, which the caller commits. It returns those that it redrove and
// those that were refused; with a NewKey that is in use an error that matches ErrKeyTaken. Letters that are neither are not open, or another transaction decides
// on them. After an error t must be rolled back.
func (a *Admin) RedriveIn(ctx context.Context, t *txn.Txn, p Part) ([]dlq.Letter, []Skip, error) {
	c := change{st: a.st, to: dlq.Redriven, audit: auditOf("redrive", p.By, p.Reason), apply: (*change).redrive, items: Items}
	if p.Items != nil {
		c.items = p.Items
	}
	if c.newKey = p.NewKey; p.NewKey != "" {
		if err := (Request{Filter: dlq.Filter{IDs: p.IDs}, By: p.By, NewKey: p.NewKey}).check(dlq.Redriven); err != nil {
			return nil, nil, err
		}
		c.audit.Detail = underNewKey(p.NewKey)
	}
	return c.part(ctx, t, p)
}

// DiscardIn discards letters in t; otherwise it is as RedriveIn.
func (a *Admin) DiscardIn(ctx context.Context, t *txn.Txn, p Part) ([]dlq.Letter, []Skip, error) {
	c := change{st: a.st, to: dlq.Discarded, audit: auditOf("discard", p.By, p.Reason), openCalls: p.OpenCalls, apply: (*change).discard}
	return c.part(ctx, t, p)
}

func (c *change) part(ctx context.Context, t *txn.Txn, p Part) (moved []dlq.Letter, refused []Skip, err error) {
	if len(p.IDs) == 0 {
		return nil, nil, nil
	}
	look := p.Look
	c.audit.RedriveID = p.RedriveID
	if look == nil {
		look = func([]dlq.Letter) ([]Skip, error) { return nil, nil }
	}
	moved, refused, err = c.take(ctx, t, dlq.Filter{IDs: p.IDs}, 0, len(p.IDs), look)
	if err == nil && len(moved) > 0 {
		err = c.record(ctx, t, moved)
	}
	return moved, refused, err
}

// take moves letters, and calls look and apply. If they refuse some, take goes back to the
// savepoint and takes the rest again, until none is refused.
func (c *change) take(ctx context.Context, t *txn.Txn, f dlq.Filter, after int64, limit int, look func([]dlq.Letter) ([]Skip, error)) (_ []dlq.Letter, skips []Skip, err error) {
	before := t.Savepoint("headrace_letters")
	for {
		if err := before.Set(ctx); err != nil {
			return nil, nil, fmt.Errorf("set a savepoint: %w", err)
		}
		letters, err := c.letters(ctx, t, f, after, limit)
		if err != nil {
			return nil, nil, fmt.Errorf("take letters: %w", err)
		}
		refused, err := look(letters)
		if err == nil && len(refused) == 0 && len(letters) > 0 {
			refused, err = c.apply(c, ctx, t, letters)
		}
		if err != nil {
			return nil, nil, err
		}
		if len(refused) == 0 {
			return letters, skips, before.Release(ctx)
		}
		if err = before.RollbackTo(ctx); err == nil {
			err = before.Release(ctx)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("leave letters open: %w", err)
		}
		skips = append(skips, refused...)
		if f = without(letters, refused); len(f.IDs) == 0 {
			return nil, skips, nil
		}
	}
}

// letters moves the letters themselves.
func (c *change) letters(ctx context.Context, t *txn.Txn, f dlq.Filter, after int64, limit int) ([]dlq.Letter, error) {
	if c.to == dlq.Open {
		return c.st.Operations().Corrections.Restore(ctx, t, c.consumer, f.IDs)
	}
	return c.st.Letters().Take(ctx, t, f, c.to, after, limit)
}

// record writes the audit rows.
func (c *change) record(ctx context.Context, t *txn.Txn, letters []dlq.Letter) error {
	rows := make([]dlq.Audit, 0, len(letters))
	for _, l := range letters {
		row := c.audit
		row.LetterID = l.LetterID
		rows = append(rows, row)
	}
	if err := c.st.Letters().Record(ctx, t, rows); err != nil {
		return fmt.Errorf("write the audit trail: %w", err)
	}
	return nil
}

// without returns a filter of the ids of letters without the refused ones.
func without(letters []dlq.Letter, refused []Skip) (f dlq.Filter) {
	for _, l := range letters {
		if !slices.ContainsFunc(refused, func(s Skip) bool { return s.LetterID == l.LetterID }) {
			f.IDs = append(f.IDs, l.LetterID)
		}
	}
	return f
}
