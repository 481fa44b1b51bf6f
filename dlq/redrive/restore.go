package redrive

import (
	"context"
	"errors"
	"fmt"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

// underNewKey says so in the audit trail.
func underNewKey(key string) string { return "under the new key " + key }

// RestoreIn takes a discard of letters of consumer back in t, which the caller commits: the letters
// are open again, and the inbox rows of their messages dead. Their steps that the discard has
// finished need a person again. The inbox row of a conflict belongs to another message and stays as
// it is. It returns the letters, with what names them, and those that were refused. Letters that
// are neither are not discarded, or another transaction decides on them, or their message has
// another letter. After an error t must be rolled back. Of p it uses IDs, By, Reason and RedriveID.
func (a *Admin) RestoreIn(ctx context.Context, t *txn.Txn, consumer string, p Part) ([]dlq.Letter, []Skip, error) {
	c := change{st: a.st, to: dlq.Open, audit: auditOf("restore", p.By, p.Reason), consumer: consumer, apply: (*change).restore}
	return c.part(ctx, t, p)
}

// restore makes the messages of letters dead again. Retention may have removed the rows of some.
func (c *change) restore(ctx context.Context, t *txn.Txn, letters []dlq.Letter) (refused []Skip, err error) {
	own := withOwnMessage(letters)
	if len(own) == 0 {
		return nil, nil
	}
	moved, err := c.transition(ctx, t, own, inbox.Discarded, inbox.Dead)
	if err != nil {
		return nil, err
	}
	var ids []inbox.ID
	var claims []inbox.Claim
	var gone []dlq.Letter
	for _, l := range own {
		if ids = append(ids, l.ID()); !moved[l.ID()] {
			gone = append(gone, l)
			claims = append(claims, inbox.Claim{ID: l.ID(), Fingerprint: l.Delivery.Fingerprint})
		}
	}
	if len(gone) > 0 {
		claimed, err := c.st.Inbox().Claim(ctx, t, inbox.ClaimRequest{Claims: claims, Waiting: true})
		if err != nil {
			return nil, fmt.Errorf("record messages again: %w", err)
		}
		for i, one := range claimed {
			if one.Result != inbox.Won {
				refused = append(refused, Skip{LetterID: gone[i].LetterID, Why: fmt.Sprintf("its message is %s", one.Entry.State)})
			}
		}
		if len(refused) > 0 {
			return refused, nil
		}
		if _, err := c.transition(ctx, t, gone, inbox.Waiting, inbox.Dead); err != nil {
			return nil, err
		}
	}
	return nil, c.st.Operations().Corrections.RestoreSteps(ctx, t, ids)
}

// ErrEdited matches the error of an edit whose letter is not as its editor saw it.
var ErrEdited = errors.New("the letter has changed since it was read")

// EditIn writes an edit of an open letter in t, which the caller commits, with its audit row. The
// error matches ErrEdited unless the letter is open with a Rev of one less.
func (a *Admin) EditIn(ctx context.Context, t *txn.Txn, e dlq.Edit) error {
	written, err := a.st.Operations().Corrections.Edit(ctx, t, e)
	if err != nil {
		return err
	}
	if !written {
		return ErrEdited
	}
	row := auditOf("edit", e.By, e.Reason)
	row.LetterID, row.Detail = e.LetterID, fmt.Sprintf("rev %d", e.Rev)
	return a.st.Letters().Record(ctx, t, []dlq.Audit{row})
}
