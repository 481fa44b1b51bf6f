package redrive

import (
	"context"
	"fmt"
	"slices"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

// Redrive puts open letters into the backlog of the handler that gave them up, with a new
// budget of attempts, oldest first. It works in batches. One commit makes the letters
// redriven and their inbox rows waiting, and writes the backlog and audit rows. Up to
// three batches run at a time, each on its own connection. Redrive blocks until all are
// done or ctx ends, and may be called again at any time.
//
// The handler of a letter under a stand-in key is asked for the message's own key again
// (see inbox.IsStandIn). If a message of that key was applied, this one is a duplicate. If
// there is no key still, the letter is open again.
//
// It skips and counts letters whose message is no longer dead (it was applied meanwhile,
// or waits already), conflicts if there is no NewKey, and messages with a step that needs a
// person (package ledger). They stay open.
//
// The error matches ErrInvalid and nothing was done, or it is a *PartialError, which
// matches ErrKeyTaken if NewKey is in use.
func (a *Admin) Redrive(ctx context.Context, r Request) (Result, error) {
	return a.move(ctx, "redrive", dlq.Redriven, r, (*change).redrive)
}

// Discard gives open letters up, oldest first, in batches of one commit each: the letter
// and its dead inbox row become discarded, and an audit row is written. A redelivery of
// the message is then a duplicate. The inbox row of a conflict belongs to another message
// and stays as it is. Letters keep their payload until retention removes them.
//
// It skips and counts letters whose message has a step with a call that may have been carried
// out (package ledger): they stay open. With OpenCalls it makes these steps skipped, and no
// person is asked about them any more.
//
// It blocks until all are done or ctx ends, and may be called again at any time. The
// error matches ErrInvalid and nothing was done, or it is a *PartialError.
func (a *Admin) Discard(ctx context.Context, r Request) (Result, error) {
	return a.move(ctx, "discard", dlq.Discarded, r, (*change).discard)
}

// discard refuses letters with open calls, unless they are meant. If a message is no longer dead,
// its letter can go too.
func (c *change) discard(ctx context.Context, t *txn.Txn, letters []dlq.Letter) ([]Skip, error) {
	own := withOwnMessage(letters)
	if len(own) == 0 {
		return nil, nil
	}
	moved, err := c.transition(ctx, t, own, inbox.Dead, inbox.Discarded)
	if err != nil || len(moved) == 0 {
		return nil, err
	}
	var ids []inbox.ID // in the order of letters
	for _, l := range own {
		if moved[l.ID()] {
			ids = append(ids, l.ID())
		}
	}
	steps, err := c.st.Operations().StepAdmin.Discard(ctx, t, ids, c.audit.By, c.audit.Reason)
	if err != nil || c.openCalls {
		return nil, err
	}
	return refuse(own, steps, "a call of its step %q may have been carried out: find out (headrace steps), or discard it with --open-calls"), nil
}

// withOwnMessage returns letters without conflicts: the inbox row and the steps under the key of a
// conflict are another message's.
func withOwnMessage(letters []dlq.Letter) []dlq.Letter {
	return slices.DeleteFunc(slices.Clone(letters), func(l dlq.Letter) bool { return l.Class == dlq.Conflict })
}

// refuse refuses the letters that have a step in steps. why says why, with its name.
func refuse(letters []dlq.Letter, steps map[inbox.ID]string, why string) (refused []Skip) {
	for _, l := range letters {
		if step := steps[l.ID()]; step != "" {
			refused = append(refused, Skip{l.LetterID, fmt.Sprintf(why, step), l.Delivery.Key})
		}
	}
	return refused
}

// redrive puts the messages into the backlog.
func (c *change) redrive(ctx context.Context, t *txn.Txn, letters []dlq.Letter) ([]Skip, error) {
	if refused := c.conflicts(letters); len(refused) > 0 {
		return refused, nil
	}
	if refused, err := c.blocked(ctx, t, letters); err != nil || len(refused) > 0 {
		return refused, err
	}
	if refused, err := c.revive(ctx, t, letters); err != nil || len(refused) > 0 {
		return refused, err
	}
	items := c.items(letters)
	if c.newKey != "" {
		items[0].Delivery.Key, items[0].Strict = c.newKey, letters[0].Strict
	}
	if err := c.st.Backlog().Put(ctx, t, items); err != nil {
		return nil, fmt.Errorf("put into the backlog: %w", err)
	}
	return nil, nil
}

// conflicts refuses a conflict without a new key. It also refuses a new key for a message
// that has a key of its own: its row would stay dead with no open letter.
func (c *change) conflicts(letters []dlq.Letter) (refused []Skip) {
	for _, l := range letters {
		switch {
		case l.Class == dlq.Conflict && c.newKey == "":
			refused = append(refused, Skip{LetterID: l.LetterID, Why: "it is a conflict: its key belongs to another message; give it a new key or discard it"})
		case l.Class != dlq.Conflict && !inbox.IsStandIn(l.Delivery.Key) && c.newKey != "":
			refused = append(refused, Skip{LetterID: l.LetterID, Why: "only a conflict, or a letter under a stand-in key, may have a new key"})
		}
	}
	return refused
}

// blocked refuses a message with a step that needs a person: it would come back as another
// letter each time. Letters of all classes are asked, since the error of a handler may hide
// that of the step. The steps under the key of a conflict are another message's.
func (c *change) blocked(ctx context.Context, t *txn.Txn, letters []dlq.Letter) (refused []Skip, err error) {
	own := withOwnMessage(letters)
	if len(own) == 0 {
		return nil, nil
	}
	ids := make([]inbox.ID, len(own))
	for i, l := range own {
		ids[i] = l.ID()
	}
	steps, err := c.st.Operations().StepAdmin.Blocking(ctx, t, ids)
	return refuse(own, steps, "its step %q needs a person: headrace steps resolve decides on it, and redrives the message"), err
}

// revive moves the inbox rows from dead to waiting, or inserts a row for the new key. The
// row of a stand-in key moves to discarded, so that a redelivery under it does nothing.
func (c *change) revive(ctx context.Context, t *txn.Txn, letters []dlq.Letter) (refused []Skip, err error) {
	if c.newKey != "" {
		d := letters[0].Delivery
		claimed, err := c.st.Inbox().Claim(ctx, t, inbox.ClaimRequest{
			Claims:  []inbox.Claim{{ID: inbox.ID{Scope: d.Scope, Key: c.newKey}, Fingerprint: d.Fingerprint}},
			Waiting: true,
		})
		if err != nil {
			return nil, fmt.Errorf("record the new key: %w", err)
		}
		if claimed[0].Result != inbox.Won {
			return nil, ErrKeyTaken
		}
		if letters[0].Class == dlq.Conflict {
			return nil, nil
		}
	}
	states := make(map[inbox.State][]dlq.Letter)
	for _, l := range letters {
		state := inbox.Waiting
		if inbox.IsStandIn(l.Delivery.Key) {
			state = inbox.Discarded
		}
		states[state] = append(states[state], l)
	}
	for state, some := range states {
		moved, err := c.transition(ctx, t, some, inbox.Dead, state)
		if err != nil {
			return nil, err
		}
		for _, l := range some {
			if !moved[l.ID()] {
				refused = append(refused, Skip{LetterID: l.LetterID, Why: "its message is not dead any more"})
			}
		}
	}
	return refused, nil
}

// transition moves the inbox rows of letters from one state to another.
func (c *change) transition(ctx context.Context, t *txn.Txn, letters []dlq.Letter, from, to inbox.State) (map[inbox.ID]bool, error) {
	ids := make([]inbox.ID, 0, len(letters))
	for _, l := range letters {
		ids = append(ids, l.ID())
	}
	list, err := c.st.Inbox().Transition(ctx, t, ids, from, to)
	if err != nil {
		return nil, fmt.Errorf("move inbox rows: %w", err)
	}
	moved := make(map[inbox.ID]bool, len(list))
	for _, id := range list {
		moved[id] = true
	}
	return moved, nil
}

// Items are the backlog rows of letters: the messages as they came, or were edited, with a new
// budget of attempts. Without a key of its own, the handler is asked for one before its order counts.
func Items(letters []dlq.Letter) []backlog.Item {
	items := make([]backlog.Item, len(letters))
	for i, l := range letters {
		items[i] = backlog.Item{
			Consumer: l.Consumer, Handler: l.Handler, Delivery: l.Message(), Strict: l.Strict,
			Spent: l.Attempts, LetterID: l.LetterID, Redrives: l.Redrives + 1,
		}
		items[i].Delivery.Attempt = 1
		if inbox.IsStandIn(l.Delivery.Key) {
			items[i].Delivery.Key, items[i].Strict = "", false
		}
	}
	return items
}
