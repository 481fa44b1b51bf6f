package dlq

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

// Deps is what a Desk needs of a store. Every store.Store has it.
type Deps interface {
	// Begin, Commit, Inbox, Backlog and Letters are those of store.Store.
	Begin(ctx context.Context) (*txn.Txn, error)
	Commit(ctx context.Context, t *txn.Txn, events []outbox.Row) error
	Inbox() inbox.Store
	Backlog() backlog.Tables
	Letters() Store
}

// Desk is where a person looks at dead letters and decides on them. It is safe for
// concurrent use, also by several processes: each letter is decided on once.
type Desk struct {
	st Deps
	// patience bounds a commit, and the reading again of one with unknown outcome;
	// neither ends with the caller's context.
	patience time.Duration
}

// NewDesk returns the desk of a store.
func NewDesk(st Deps) *Desk { return &Desk{st: st, patience: 30 * time.Second} }

// Errors of a Desk.
var (
	// ErrInvalid matches every refusal of a request before anything was done.
	ErrInvalid = errors.New("invalid request")
	// ErrKeyTaken matches a redrive under a new key that a message had before.
	ErrKeyTaken = errors.New("the new key is taken")
)

// maxList bounds a page of List.
const maxList = 1000

// List returns at most limit letters of f with an id below before (0: the newest
// ones), newest first, without payload, metadata and stack. limit is 1 to 1000; the
// error matches ErrInvalid where it is not.
func (d *Desk) List(ctx context.Context, f Filter, before int64, limit int) ([]Letter, error) {
	if limit < 1 || limit > maxList {
		return nil, fmt.Errorf("list dead letters: %w: limit %d is not in 1..%d", ErrInvalid, limit, maxList)
	}
	letters, err := d.st.Letters().List(ctx, f, before, limit)
	if err != nil {
		return nil, fmt.Errorf("list dead letters: %w", err)
	}
	return letters, nil
}

// Count returns the number of letters of f.
func (d *Desk) Count(ctx context.Context, f Filter) (int64, error) {
	n, err := d.st.Letters().Count(ctx, f)
	if err != nil {
		return 0, fmt.Errorf("count dead letters: %w", err)
	}
	return n, nil
}

// Groups returns the letters of f by the reason of their failure, largest group
// first.
func (d *Desk) Groups(ctx context.Context, f Filter) ([]Group, error) {
	groups, err := d.st.Letters().Groups(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("group dead letters: %w", err)
	}
	return groups, nil
}

// Detail is all that is known of a letter.
type Detail struct {
	// Letter is the letter with its payload.
	Letter Letter
	// Attempts are the recorded runs of the message, oldest first; of a conflict,
	// none.
	Attempts []inbox.Attempt
	// Trail is what was done to the letter, oldest first.
	Trail []Audit
	// Inbox says where the message is now; for a conflict, the message that had the
	// key first. Its State is "" where there is no row.
	Inbox inbox.Entry
}

// Show returns a letter whole, or an error that matches ErrNotFound. The parts are
// read one after the other, not in one snapshot.
func (d *Desk) Show(ctx context.Context, id int64) (Detail, error) {
	detail, err := d.show(ctx, id)
	if err != nil {
		return Detail{}, fmt.Errorf("show dead letter %d: %w", id, err)
	}
	return detail, nil
}

func (d *Desk) show(ctx context.Context, id int64) (Detail, error) {
	l, err := d.st.Letters().Get(ctx, id)
	if err != nil {
		return Detail{}, err
	}
	detail := Detail{Letter: l}
	if detail.Trail, err = d.st.Letters().Trail(ctx, id); err != nil {
		return Detail{}, err
	}
	entries, err := d.st.Inbox().Find(ctx, l.Delivery.Key)
	if err != nil {
		return Detail{}, err
	}
	if i := slices.IndexFunc(entries, func(e inbox.Entry) bool { return e.ID == l.ID() }); i >= 0 {
		detail.Inbox = entries[i]
	}
	if l.Class == Conflict {
		// The attempts under this key are those of the message that had it first.
		return detail, nil
	}
	if detail.Attempts, err = d.st.Inbox().Attempts(ctx, l.ID()); err != nil {
		return Detail{}, err
	}
	return detail, nil
}
