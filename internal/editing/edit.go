package editing

import (
	"context"
	"errors"
	"fmt"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// Edit is the new content of a letter.
type Edit struct {
	LetterID int64 `json:"letter_id"`
	// Rev is that of the letter as the person saw it.
	Rev int `json:"rev"`
	// Payload is nil for a tombstone.
	Payload  []byte            `json:"payload"`
	Metadata map[string]string `json:"metadata"`
	// DryRun checks the edit, and writes nothing.
	DryRun bool `json:"dry_run,omitempty"`
}

// Edited is what became of an edit.
type Edited struct {
	LetterID int64 `json:"letter_id"`
	// Rev is that of the letter now, or of one that would be written.
	Rev    int  `json:"rev"`
	DryRun bool `json:"dry_run,omitempty"`
	// Key is the message's; "" if its handler finds none, and Why says why.
	Key string `json:"key,omitempty"`
	Why string `json:"why,omitempty"`
	// Inbox is the state of a message with the same key and content; "" if there is none. A
	// redrive closes the letter then.
	Inbox inbox.State `json:"inbox,omitempty"`
	// Copies are conflicts under the same key: the sender may have corrected the message.
	Copies []Copy `json:"copies,omitempty"`
	// Rehearsable says that the handler can be tried on the letter.
	Rehearsable bool `json:"rehearsable,omitempty"`
}

// Copy is a letter of another message under the same key.
type Copy struct {
	LetterID int64     `json:"letter_id"`
	State    dlq.State `json:"state"`
	// Same says that it has the content of the edit.
	Same bool `json:"same,omitempty"`
}

// Says is what a person should know of the edit besides its key, in sentences.
func (a Edited) Says() (lines []string) {
	for _, c := range a.Copies {
		as := "other content"
		if c.Same {
			as = "the content of this edit"
		}
		lines = append(lines, fmt.Sprintf("letter %d, %s, came under the same key with %s: the sender may have corrected the message. Apply one of them, and discard letter %d", c.LetterID, c.State, as, c.LetterID))
	}
	if a.Inbox != "" {
		lines = append(lines, fmt.Sprintf("the message is %s already: a redrive closes the letter", a.Inbox))
	}
	if a.Key == "" && !a.DryRun {
		lines = append(lines, "its handler finds no key in it: "+a.Why)
	}
	return lines
}

// maxCopies bounds how many copies an answer has.
const maxCopies = 10

// Edit edits a letter: requests of kind EditKind. The error matches instance.ErrRefused if nothing
// was changed.
func (d *Admin) Edit(ctx context.Context, q instance.Request, args Edit) (Edited, error) {
	l, h, err := d.open(ctx, q, args.LetterID, args.Rev)
	if err != nil {
		return Edited{}, err
	}
	if l.Class == dlq.Conflict {
		return Edited{}, instance.Refuse("letter %d is a conflict: its key belongs to another message. Discard it, or redrive it under a new key", l.LetterID)
	}
	e := dlq.Edit{LetterID: l.LetterID, Rev: l.Rev + 1, Content: dlq.Content{Payload: args.Payload, Metadata: args.Metadata}, By: q.By, Reason: q.Reason, DBUser: q.DBUser}
	after := l
	after.Rev, after.Edit = e.Rev, e.Content
	a, err := d.check(ctx, h, &l, identify(h, after.Message()))
	a.LetterID, a.Rev, a.DryRun, a.Rehearsable = l.LetterID, e.Rev, args.DryRun, h.Rehearsable
	if err != nil || args.DryRun {
		return a, err
	}
	err = store.Transact(ctx, d.Store, func(t *txn.Txn) error { return d.redrives().EditIn(ctx, t, e) })
	if errors.Is(err, redrive.ErrEdited) {
		err = edited(l.LetterID)
	}
	return a, err
}

// check refuses an edit of l that would be another message, or that its handler cannot read.
func (d *Admin) check(ctx context.Context, h *task.Handler, l *dlq.Letter, one *task.Task) (a Edited, err error) {
	key, none := one.Delivery.Key, inbox.IsStandIn(one.Delivery.Key)
	standIn := inbox.IsStandIn(l.Delivery.Key)
	switch {
	case standIn && none:
		return Edited{Why: fmt.Sprint(one.Bad)}, nil
	case standIn:
		if a.Inbox, err = d.taken(ctx, one); err != nil {
			return a, err
		}
	case key != l.Delivery.Key:
		// A person may have given the message its key: its own bytes have another, or none.
		came := identify(h, l.Delivery)
		if came.Delivery.Key != key && !(none && inbox.IsStandIn(came.Delivery.Key)) {
			return a, another(key, one.Bad)
		}
		if key = l.Delivery.Key; none {
			one.Bad = nil // it is sent under the key that it has
		}
	}
	if one.Bad != nil {
		return a, instance.Refuse("its handler cannot read it: %v", one.Bad)
	}
	if l.Strict && !standIn && one.Delivery.OrderKey != l.Delivery.OrderKey {
		return a, instance.Refuse("its order key would be %s, and is %s: it may not change", one.Delivery.OrderKey, l.Delivery.OrderKey)
	}
	a.Key = key
	a.Copies, err = d.copies(ctx, l, one)
	return a, err
}

// another refuses an edit that changes the key.
func another(key string, bad error) error {
	if inbox.IsStandIn(key) {
		return instance.Refuse("its handler would find no key in it: %v", bad)
	}
	return instance.Refuse("this would be another message, %s", key)
}

// taken returns the state of the message that has the key of one already; "" if there is none. It
// refuses the key of a message with other content, or with a letter.
func (d *Admin) taken(ctx context.Context, one *task.Task) (inbox.State, error) {
	entries, err := d.Store.Inbox().Find(ctx, one.Delivery.Key)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		switch {
		case e.ID != one.ID():
		case e.Fingerprint != one.Delivery.Fingerprint:
			return "", instance.Refuse("the key %s belongs to another message, which is %s", e.Key, e.State)
		case e.State == inbox.Dead:
			return "", instance.Refuse("the message has another letter, under its key %s", e.Key)
		default:
			return e.State, nil
		}
	}
	return "", nil
}

// copies returns the conflicts under the key of one.
func (d *Admin) copies(ctx context.Context, l *dlq.Letter, one *task.Task) (list []Copy, err error) {
	f := dlq.Filter{Consumer: l.Consumer, Handler: l.Handler, Class: dlq.Conflict, Key: l.Delivery.Key, AnyState: true}
	if inbox.IsStandIn(f.Key) {
		f.Key = one.Delivery.Key
	}
	letters, err := d.Store.Letters().List(ctx, f, 0, maxCopies)
	for _, c := range letters {
		list = append(list, Copy{LetterID: c.LetterID, State: c.State, Same: c.Delivery.Fingerprint == one.Delivery.Fingerprint})
	}
	return list, err
}
