package editing

import (
	"context"
	"errors"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// The kinds of requests.
const (
	EditKind    = "edit"
	NewKeyKind  = "new-key"
	RestoreKind = "restore"
)

// Admin does what is asked of a consumer. It is safe for concurrent use. All fields are required.
type Admin struct {
	Store store.Store
	// Handlers are those of the consumer in this process.
	Handlers []*task.Handler

	tries bool // see Try
}

// Actions do what people ask, by the kind of the request.
func (d *Admin) Actions() map[string]instance.Action {
	return map[string]instance.Action{
		EditKind:    instance.Does(d.Edit).Explained(),
		NewKeyKind:  instance.Does(d.NewKey).Explained(),
		RestoreKind: instance.Does(d.Restore).Explained(),
	}
}

func (d *Admin) redrives() *redrive.Admin { return redrive.New(d.Store) }

// open returns an open letter of the consumer with its handler, as the person saw it: with rev
// edits.
func (d *Admin) open(ctx context.Context, q instance.Request, id int64, rev int) (l dlq.Letter, h *task.Handler, err error) {
	l, err = d.Store.Letters().Get(ctx, id)
	if errors.Is(err, dlq.ErrNotFound) {
		return l, nil, instance.Refuse("there is no letter %d", id)
	} else if err != nil {
		return l, nil, err
	}
	h = task.Find(d.Handlers, l.Handler)
	switch {
	case l.Consumer != q.Consumer:
		return l, nil, instance.Refuse("letter %d is one of consumer %s", id, l.Consumer)
	case l.State != dlq.Open:
		return l, nil, instance.Refuse("letter %d is %s", id, l.State)
	case l.Rev != rev:
		return l, nil, edited(id)
	case h == nil:
		return l, nil, instance.Refuse("this process has no handler %s", l.Handler)
	}
	return l, h, nil
}

// edited refuses what was asked for a letter as it was before.
func edited(id int64) error {
	return instance.Refuse("letter %d is not as you saw it: it was edited or decided on meanwhile", id)
}

// identify asks the handler for the key of a message.
func identify(h *task.Handler, d headrace.Delivery) *task.Task {
	one := &task.Task{Handler: h, Delivery: d}
	one.Delivery.Key, one.Delivery.Fingerprint = "", ""
	h.Identify(one)
	return one
}

// NewKey is the key under which one letter is sent.
type NewKey struct {
	LetterID int64 `json:"letter_id"`
	// Rev is that of the letter as the person saw it.
	Rev int    `json:"rev"`
	Key string `json:"key"`
}

// NewKey sends a letter under a new key: requests of kind NewKeyKind. The error matches
// instance.ErrRefused if nothing was changed. A person types the key, or copies it: one that looks like another and is
// not is refused, unless the letter's own key has such characters, since keys of other systems may.
func (d *Admin) NewKey(ctx context.Context, q instance.Request, args NewKey) (NewKey, error) {
	l, h, err := d.open(ctx, q, args.LetterID, args.Rev)
	if err != nil {
		return args, err
	}
	if unseen := encode.Seen("the new key", args.Key); unseen != nil && encode.Seen("", l.Delivery.Key) == nil {
		return args, instance.Refuse("%v: type it anew", unseen)
	}
	if l.Class != dlq.Conflict {
		if !inbox.IsStandIn(l.Delivery.Key) {
			return args, instance.Refuse("only a conflict, or a letter without a key, may have a new key")
		}
		if found := identify(h, l.Message()).Delivery.Key; !inbox.IsStandIn(found) {
			return args, instance.Refuse("its handler finds the key %s in it: redrive it without a new key", found)
		}
	}
	err = store.Transact(ctx, d.Store, func(t *txn.Txn) error {
		moved, refused, err := d.redrives().RedriveIn(ctx, t, redrive.Part{
			IDs: []int64{l.LetterID}, By: q.By, Reason: q.Reason, NewKey: args.Key,
			Look: func(letters []dlq.Letter) (refused []redrive.Skip, err error) {
				if len(letters) > 0 && letters[0].Rev != args.Rev {
					return nil, edited(l.LetterID)
				}
				return nil, nil
			},
		})
		switch {
		case err != nil:
			return err
		case len(refused) > 0:
			return instance.Refuse("%s", refused[0].Why)
		case len(moved) == 0:
			return edited(l.LetterID)
		}
		return nil
	})
	switch {
	case errors.Is(err, redrive.ErrKeyTaken):
		return args, instance.Refuse("the key %s is taken by another message", args.Key)
	case errors.Is(err, redrive.ErrInvalid):
		return args, instance.Refuse("%v", err)
	case err == nil:
		d.Store.Backlog().Signals.Wake(q.Consumer)
	}
	return args, err
}
