package read

import (
	"context"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
)

// InboxRow is where a message with a key is, with its attempts and its letters.
type InboxRow struct {
	inbox.Entry
	// Attempts are its failed ones, Letters those of its key that are its own.
	Attempts []inbox.Attempt
	Letters  []dlq.Letter
}

// Inbox reads where the messages with a key are, in every scope, with at most so many of its letters.
func (r Reader) Inbox(ctx context.Context, key string, most int) (rows []InboxRow, err error) {
	entries, err := r.Store.Inbox().Find(ctx, key)
	if err != nil {
		return nil, err
	}
	letters, err := r.Store.Letters().List(ctx, dlq.Filter{Key: key, AnyState: true}, 0, most)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		row := InboxRow{Entry: e}
		if row.Attempts, err = r.Store.Inbox().Attempts(ctx, e.ID); err != nil {
			return nil, err
		}
		for _, l := range letters {
			if l.ID() == e.ID {
				row.Letters = append(row.Letters, l)
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}
