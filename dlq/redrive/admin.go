package redrive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// Store is the part of a store.Store that an Admin needs.
type Store interface {
	// Begin, Commit, Inbox, Backlog, Letters and Operations are as in store.Store.
	Begin(ctx context.Context) (*txn.Txn, error)
	Commit(ctx context.Context, t *txn.Txn, events []outbox.Row) error
	Inbox() inbox.Store
	Backlog() backlog.Tables
	Letters() dlq.Store
	Operations() store.Operations
}

// Admin shows dead letters and decides on them. It is safe for concurrent use, also by
// several processes: each letter is decided on once.
type Admin struct {
	st Store
	// storeTimeout bounds a commit, and the check of one with unknown outcome. Neither
	// ends with the caller's context.
	storeTimeout time.Duration
}

// New returns the Admin of a store.
func New(st Store) *Admin { return &Admin{st: st, storeTimeout: 30 * time.Second} }

// Errors of an Admin.
var (
	// ErrInvalid matches the error of an invalid request; nothing was changed.
	ErrInvalid = errors.New("invalid request")
	// ErrKeyTaken matches a redrive under a new key that another message has used.
	ErrKeyTaken = errors.New("the new key is taken")
)

// maxList bounds a page of List.
const maxList = 1000

// List returns at most limit letters of f with an id below before (0: the newest ones),
// newest first, without payload, metadata and stack. limit is 1 to 1000; otherwise the
// error matches ErrInvalid.
func (a *Admin) List(ctx context.Context, f dlq.Filter, before int64, limit int) ([]dlq.Letter, error) {
	if limit < 1 || limit > maxList {
		return nil, fmt.Errorf("list dead letters: %w: limit %d is not in 1..%d", ErrInvalid, limit, maxList)
	}
	letters, err := a.st.Letters().List(ctx, f, before, limit)
	return letters, wrap("list dead letters", err)
}

// Count returns the number of letters of f.
func (a *Admin) Count(ctx context.Context, f dlq.Filter) (int64, error) {
	n, err := a.st.Letters().Count(ctx, f)
	return n, wrap("count dead letters", err)
}

// Groups returns the letters of f grouped by the reason of their failure, largest group
// first. If f chooses whole groups, it reads their counters.
func (a *Admin) Groups(ctx context.Context, f dlq.Filter) ([]dlq.Group, error) {
	if !f.WholeGroups() {
		list, err := a.st.Letters().Groups(ctx, f)
		return list, wrap("group dead letters", err)
	}
	counted, err := a.st.Operations().Groups.List(ctx, groups.Filter{Consumer: f.Consumer, Handler: f.Handler, ErrorFingerprint: f.ErrorFingerprint})
	list := make([]dlq.Group, len(counted))
	for i, g := range counted {
		list[i] = dlq.Group{
			ErrorFingerprint: g.ErrorFingerprint, Consumer: g.Consumer, Handler: g.Handler, Class: g.Class,
			Count: g.Open, First: g.First, Last: g.Last, Sample: g.Sample, SampleID: g.LastLetter,
		}
	}
	return list, wrap("group dead letters", err)
}

// wrap prefixes err, which may be nil, with what.
func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// Detail is a letter with everything recorded about it.
type Detail struct {
	// Letter is the letter with its payload.
	Letter dlq.Letter
	// Attempts are the recorded runs of the message, oldest first; none for a conflict.
	Attempts []inbox.Attempt
	// NextID is the letter that the message made when it failed again after a redrive; 0 if
	// it made none.
	NextID int64
	// Trail are the decisions on the letter, oldest first.
	Trail []dlq.Audit
	// Inbox is the message's inbox row; for a conflict, that of the message that had the
	// key first. Its State is "" if there is no row.
	Inbox inbox.Entry
	// Hidden is the error of a login that may not read what messages say: then Letter has no
	// payload, no metadata and no stack.
	Hidden error
}

// Show returns a letter, complete unless its content is Hidden from the login, or an error that
// matches dlq.ErrNotFound. It reads the parts one after the other, not in one snapshot.
func (a *Admin) Show(ctx context.Context, id int64) (Detail, error) {
	detail, err := a.show(ctx, id)
	return detail, wrap(fmt.Sprintf("show dead letter %d", id), err)
}

// bare returns a letter without its content.
func (a *Admin) bare(ctx context.Context, id int64) (dlq.Letter, error) {
	letters, err := a.st.Letters().List(ctx, dlq.Filter{IDs: []int64{id}, AnyState: true}, 0, 1)
	switch {
	case err != nil:
		return dlq.Letter{}, err
	case len(letters) == 0:
		return dlq.Letter{}, fmt.Errorf("%w: %d", dlq.ErrNotFound, id)
	}
	return letters[0], nil
}

func (a *Admin) show(ctx context.Context, id int64) (d Detail, err error) {
	if d.Letter, err = a.st.Letters().Get(ctx, id); txn.NotPermitted(err) {
		d.Hidden = err
		d.Letter, err = a.bare(ctx, id)
	}
	if err != nil {
		return Detail{}, err
	}
	if d.Trail, err = a.st.Letters().Trail(ctx, id); err != nil {
		return Detail{}, err
	}
	if d.NextID, err = a.st.Letters().Next(ctx, id); err != nil {
		return Detail{}, err
	}
	entries, err := a.st.Inbox().Find(ctx, d.Letter.Delivery.Key)
	if err != nil {
		return Detail{}, err
	}
	if i := slices.IndexFunc(entries, func(e inbox.Entry) bool { return e.ID == d.Letter.ID() }); i >= 0 {
		d.Inbox = entries[i]
	}
	if d.Letter.Class == dlq.Conflict {
		// The attempts under this key belong to the message that had it first.
		return d, nil
	}
	d.Attempts, err = a.st.Inbox().Attempts(ctx, d.Letter.ID())
	return d, err
}
