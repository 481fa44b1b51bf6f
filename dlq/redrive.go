package dlq

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

// Redrive puts open letters into the backlog of the handler that gave them up, with
// a new budget of attempts, oldest first. It works in batches, each one commit: the
// letter redriven, its inbox row waiting, its backlog row and the audit row; up to
// three are under way at a time, on a connection each, and letters of a strict order key keep
// their order. It blocks until all are done or ctx ends, and may be called again at any time: each
// letter is redriven once, whoever else redrives it.
//
// Letters stay open and are counted as skipped where the message is not dead any
// more (it was applied meanwhile, or waits already), and where they are conflicts
// and there is no NewKey.
//
// The error matches ErrInvalid and nothing was done, or it is a *PartialError; the
// latter matches ErrKeyTaken where NewKey is in use.
func (d *Desk) Redrive(ctx context.Context, r RedriveRequest) (RedriveResult, error) {
	if err := r.check(); err != nil {
		return RedriveResult{}, fmt.Errorf("redrive: %w", err)
	}
	s := &sweep{
		st: d.st, patience: d.patience, to: Redriven, limit: r.Limit, progress: r.Progress,
		audit: Audit{Action: "redrive", By: r.By, Reason: r.Reason, NewKey: r.NewKey},
	}
	s.apply = redrive{st: d.st, newKey: r.NewKey}.apply
	err := s.run(ctx, r.Filter)
	if err != nil {
		err = fmt.Errorf("redrive: %w", err)
	}
	return RedriveResult{Redriven: s.done, Skipped: s.skipped, Skips: s.skips}, err
}

type redrive struct {
	st     Deps
	newKey string
}

// apply hands the messages over from the dead letters to the backlog.
func (r redrive) apply(ctx context.Context, t *txn.Txn, letters []Letter) ([]Skip, error) {
	if refused := r.conflicts(letters); len(refused) > 0 {
		return refused, nil
	}
	waiting, err := r.order(ctx, t, letters)
	if err != nil {
		return nil, err
	}
	if refused, err := r.wake(ctx, t, letters); err != nil || len(refused) > 0 {
		return refused, err
	}
	items := make([]backlog.Item, 0, len(letters))
	for _, l := range letters {
		item := r.item(l)
		if key, strict := orderKey(l); strict {
			item.Blocked = waiting[key]
			waiting[key] = true // the next letter of this key goes behind this one
		}
		items = append(items, item)
	}
	if err := r.st.Backlog().Put(ctx, t, items); err != nil {
		return nil, fmt.Errorf("put into the backlog: %w", err)
	}
	return nil, nil
}

// conflicts refuses what only a new key can send again, and a new key for anything
// else: the row of its old one would stay dead with no letter to show it.
func (r redrive) conflicts(letters []Letter) (refused []Skip) {
	for _, l := range letters {
		switch {
		case l.Class == Conflict && r.newKey == "":
			refused = append(refused, Skip{l.LetterID, "it is a conflict: its key belongs to another message; give it a new key or discard it"})
		case l.Class != Conflict && r.newKey != "":
			refused = append(refused, Skip{l.LetterID, "only a conflict may have a new key"})
		}
	}
	return refused
}

// order locks the order keys of strict letters and returns those that messages wait
// under already. The lookup is a later statement than the lock: only then does it
// see what the holder before has committed.
func (r redrive) order(ctx context.Context, t *txn.Txn, letters []Letter) (map[backlog.OrderKey]bool, error) {
	waiting := make(map[backlog.OrderKey]bool)
	var keys []backlog.OrderKey
	for _, l := range letters {
		if key, strict := orderKey(l); strict && !waiting[key] {
			waiting[key] = true
			keys = append(keys, key)
		}
	}
	clear(waiting)
	if len(keys) == 0 {
		return waiting, nil
	}
	if err := r.st.Backlog().Order.Lock(ctx, t, keys); err != nil {
		return nil, fmt.Errorf("lock order keys: %w", err)
	}
	busy, err := r.st.Backlog().Order.Waiting(ctx, t, keys)
	if err != nil {
		return nil, fmt.Errorf("look for waiting messages: %w", err)
	}
	for _, key := range busy {
		waiting[key] = true
	}
	return waiting, nil
}

func orderKey(l Letter) (backlog.OrderKey, bool) {
	return backlog.OrderKey{Scope: l.Delivery.Scope, Key: l.Delivery.OrderKey}, l.Strict && l.Delivery.OrderKey != ""
}

// wake moves the inbox rows from dead to waiting, or inserts the one of a new key.
func (r redrive) wake(ctx context.Context, t *txn.Txn, letters []Letter) ([]Skip, error) {
	if r.newKey != "" {
		entry := inbox.Entry{ID: inbox.ID{Scope: letters[0].Delivery.Scope, Key: r.newKey}, State: inbox.Waiting, Fingerprint: letters[0].Delivery.Fingerprint}
		recorded, err := r.st.Inbox().Record(ctx, t, entry)
		if err != nil {
			return nil, fmt.Errorf("record the new key: %w", err)
		}
		if !recorded {
			return nil, ErrKeyTaken
		}
		return nil, nil
	}
	moved, err := move(ctx, r.st, t, letters, inbox.Waiting)
	if err != nil {
		return nil, err
	}
	var refused []Skip
	for _, l := range letters {
		if !moved[l.ID()] {
			refused = append(refused, Skip{l.LetterID, "its message is not dead any more"})
		}
	}
	return refused, nil
}

// move moves the inbox rows of letters from dead to state.
func move(ctx context.Context, st Deps, t *txn.Txn, letters []Letter, state inbox.State) (map[inbox.ID]bool, error) {
	ids := make([]inbox.ID, 0, len(letters))
	for _, l := range letters {
		ids = append(ids, l.ID())
	}
	list, err := st.Inbox().Transition(ctx, t, ids, inbox.Dead, state)
	if err != nil {
		return nil, fmt.Errorf("move inbox rows: %w", err)
	}
	moved := make(map[inbox.ID]bool, len(list))
	for _, id := range list {
		moved[id] = true
	}
	return moved, nil
}

// item is the work that a letter becomes: the message as it came, its first run of a
// new budget.
func (r redrive) item(l Letter) backlog.Item {
	item := backlog.Item{
		Consumer: l.Consumer, Handler: l.Handler, Delivery: l.Delivery, Strict: l.Strict,
		Spent: l.Attempts, LetterID: l.LetterID, Redrives: l.Redrives + 1,
	}
	item.Delivery.Attempt = 1
	if r.newKey != "" {
		item.Delivery.Key = r.newKey
	}
	return item
}
