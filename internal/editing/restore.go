package editing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/headrace/headrace/audit"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// Restore says which discards to take back: of letters, or of a redrive that was one.
type Restore struct {
	IDs       []int64 `json:"letter_ids,omitempty"`
	RedriveID int64   `json:"redrive_id,omitempty"`
}

// Restored is what became of the letters.
type Restored struct {
	// Done letters are open again.
	Done    int `json:"restored"`
	Skipped int `json:"skipped"`
	// Skips say why letters stay as they are, of the first hundred.
	Skips []redrive.Skip `json:"skips,omitempty"`
}

const (
	// MaxLetters is how many letters a request may name.
	MaxLetters = 1000
	// batch is how many letters a transaction restores.
	batch    = 500
	maxSkips = 100
)

// Restore makes discarded letters open again: requests of kind RestoreKind. The error matches
// instance.ErrRefused if there is none.
func (d *Admin) Restore(ctx context.Context, q instance.Request, args Restore) (r Restored, err error) {
	if args.RedriveID != 0 {
		err = d.restoreJob(ctx, q, args.RedriveID, &r)
	} else if len(args.IDs) > MaxLetters {
		err = instance.Refuse("%d letters are more than %d", len(args.IDs), MaxLetters)
	} else {
		for ids := range slices.Chunk(slices.Compact(slices.Sorted(slices.Values(args.IDs))), batch) {
			if err = d.restore(ctx, q, 0, ids, &r); err != nil {
				break
			}
		}
	}
	switch {
	case err != nil && r.Done > 0:
		return r, fmt.Errorf("after %d letters, which are open again: %w", r.Done, err)
	case err == nil && r.Done == 0 && r.Skipped > 0:
		return r, instance.Refuse("letter %d: %s", r.Skips[0].LetterID, r.Skips[0].Why)
	case err == nil && r.Done == 0:
		return r, instance.Refuse("there is no letter to restore")
	}
	return r, err
}

// Try returns what Restore would, and writes nothing. Of a redrive it does not look whether messages came
// again since.
func (d *Admin) Try(ctx context.Context, q instance.Request, args Restore) (Restored, error) {
	try := *d
	try.tries = true
	return try.Restore(ctx, q, args)
}

// restoreJob restores the letters of a discard.
func (d *Admin) restoreJob(ctx context.Context, q instance.Request, id int64, r *Restored) error {
	j, err := d.Store.Operations().Redrives.Get(ctx, id)
	switch {
	case errors.Is(err, job.ErrNotFound):
		return instance.Refuse("there is no %s", job.Name(id))
	case err != nil:
		return err
	case j.Consumer != q.Consumer:
		return instance.Refuse("%s is one of consumer %s", job.Name(id), j.Consumer)
	case j.Kind != job.Discarding:
		return instance.Refuse("%s was no discard", job.Name(id))
	case !j.State.Ended():
		return instance.Refuse("%s is %s: cancel it first", job.Name(id), j.State)
	}
	for after := int64(0); ; {
		entries, err := d.Store.Operations().Redrives.Entries(ctx, id, job.Succeeded, after, batch)
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			break
		}
		var ids []int64
		for _, e := range entries {
			ids, after = append(ids, e.LetterID), e.LetterID
		}
		if err := d.restore(ctx, q, id, ids, r); err != nil {
			return err
		}
		instance.Progress(ctx, r)
	}
	if r.Done == 0 || d.tries {
		return nil
	}
	return store.Transact(ctx, d.Store, func(t *txn.Txn) error {
		return d.Store.Operations().Audit.Record(ctx, t, audit.Row{
			Kind: audit.Redrive, Subject: strconv.FormatInt(id, 10), Action: "restore", By: q.By, Reason: q.Reason, Detail: fmt.Sprintf("%d letters", r.Done),
		})
	})
}

// restore restores letters in a transaction, and counts them.
func (d *Admin) restore(ctx context.Context, q instance.Request, redriveID int64, ids []int64, r *Restored) error {
	if d.tries {
		return d.try(ctx, q, redriveID, ids, r)
	}
	var moved []dlq.Letter
	var refused []redrive.Skip
	err := store.Transact(ctx, d.Store, func(t *txn.Txn) (err error) {
		moved, refused, err = d.redrives().RestoreIn(ctx, t, q.Consumer, redrive.Part{IDs: ids, By: q.By, Reason: q.Reason, RedriveID: redriveID})
		return err
	})
	if err != nil {
		return err
	}
	r.Done += len(moved)
	left := slices.DeleteFunc(slices.Clone(ids), func(id int64) bool {
		return slices.ContainsFunc(moved, func(l dlq.Letter) bool { return l.LetterID == id }) ||
			slices.ContainsFunc(refused, func(s redrive.Skip) bool { return s.LetterID == id })
	})
	if len(left) > 0 {
		others, err := d.others(ctx, q, left)
		if err != nil {
			return err
		}
		refused = append(refused, others...)
	}
	r.skip(refused...)
	return nil
}

// try counts what restore would restore.
func (d *Admin) try(ctx context.Context, q instance.Request, redriveID int64, ids []int64, r *Restored) error {
	letters, err := d.Store.Letters().List(ctx, dlq.Filter{IDs: ids, Consumer: q.Consumer, State: dlq.Discarded}, 0, len(ids))
	if err != nil {
		return err
	}
	left := slices.Clone(ids)
	for _, l := range letters {
		left = slices.DeleteFunc(left, func(id int64) bool { return id == l.LetterID })
		now := inbox.Discarded
		if redriveID == 0 && l.Class != dlq.Conflict { // which has no message of its own
			if now, err = d.stateOf(ctx, l); err != nil {
				return err
			}
		}
		if now == inbox.Discarded {
			r.Done++
			continue
		}
		r.skip(redrive.Skip{LetterID: l.LetterID, Why: "its message is " + string(now)})
	}
	if len(left) == 0 {
		return nil
	}
	others, err := d.others(ctx, q, left)
	r.skip(others...)
	return err
}

// stateOf is the state of a letter's message; that of the letter if retention has removed the message.
func (d *Admin) stateOf(ctx context.Context, l dlq.Letter) (inbox.State, error) {
	entries, err := d.Store.Inbox().Find(ctx, l.Delivery.Key)
	for _, e := range entries {
		if e.ID == l.ID() {
			return e.State, nil
		}
	}
	return inbox.Discarded, err
}

func (r *Restored) skip(list ...redrive.Skip) {
	r.Skipped += len(list)
	r.Skips = append(r.Skips, list[:min(len(list), maxSkips-len(r.Skips))]...)
}

// others says why letters were not restored.
func (d *Admin) others(ctx context.Context, q instance.Request, ids []int64) (skips []redrive.Skip, err error) {
	letters, err := d.Store.Letters().List(ctx, dlq.Filter{IDs: ids, AnyState: true}, 0, len(ids))
	for _, id := range ids {
		why := "there is no letter of that number"
		for _, l := range letters {
			switch {
			case l.LetterID != id:
			case l.Consumer != q.Consumer:
				why = "it is one of consumer " + l.Consumer
			case l.State != dlq.Discarded:
				why = "it is " + string(l.State)
			default:
				why = "its message has another letter, or another decision on it is under way"
			}
		}
		skips = append(skips, redrive.Skip{LetterID: id, Why: why})
	}
	return skips, err
}
