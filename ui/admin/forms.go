package admin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/internal/editing"
	"github.com/headrace/headrace/internal/inspect"
	"github.com/headrace/headrace/internal/intervene"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/ui/read"
	"github.com/headrace/headrace/ui/view"
)

// Form is what the page of an action of admins has besides what it is about.
type Form struct {
	// Seen is what the form carries.
	Seen string
	// Why says why it cannot be done here; "" if it can.
	Why string
	// Stale says that what it is about has changed since the person saw it.
	Stale bool
	// Idle says that no process of the consumer runs: nothing can be asked for.
	Idle bool
}

// onLetter reads a letter, and the form of an action on it.
func onLetter(ctx context.Context, r read.Reader, id int64) (l dlq.Letter, f Form, err error) {
	if l, err = r.Store.Letters().Get(ctx, id); err != nil {
		return l, f, err
	}
	if f.Idle, err = r.Idle(ctx, l.Consumer); err != nil {
		return l, f, err
	}
	f.Seen, _, err = r.LetterSeen(ctx, l)
	return l, f, err
}

// Edit is what the page of an edit shows.
type Edit struct {
	Form
	// Letter is edited.
	Letter dlq.Letter
	// Text is the payload, as it is or as it was typed.
	Text string
}

// ReadEdit reads what the page of an edit shows. Its Text is what the message says.
func ReadEdit(ctx context.Context, r read.Reader, id int64) (*Edit, error) {
	l, form, err := onLetter(ctx, r, id)
	e := &Edit{Form: form, Letter: l}
	payload := l.Message().Payload
	switch {
	case err != nil:
		return nil, err
	case l.State != dlq.Open:
		e.Why = fmt.Sprintf("letter %d is %s", l.LetterID, l.State)
	case l.Class == dlq.Conflict:
		e.Why = "it is a conflict: its key belongs to another message. Discard it, or apply it under a new key"
	case len(payload) > view.MaxPayload:
		e.Why = fmt.Sprintf("its payload has %d bytes, and a page edits at most %d. The command edits it with --file or --patch", len(payload), view.MaxPayload)
	case !view.Editable(payload):
		e.Why = "its payload has bytes that a page cannot show and send back as they are. The command edits it with --file"
	default:
		e.Text = string(payload)
	}
	return e, nil
}

// Write puts what was typed into the form, and returns what is asked for; wrong says why it cannot be.
// Browsers send each end of a line as two characters.
func (e *Edit) Write(typed []string) (args editing.Edit, wrong string) {
	if e.Text = ""; len(typed) != 1 {
		return args, "Nothing was done: the form has no payload."
	}
	e.Text = strings.ReplaceAll(typed[0], "\r\n", "\n")
	now, text := e.Letter.Message(), []byte(e.Text)
	if now.Payload == nil && len(text) == 0 {
		text = nil // it stays a tombstone
	}
	switch {
	case len(text) > view.MaxPayload:
		wrong = fmt.Sprintf("Nothing was done: it has %d bytes, and a page sends at most %d.", len(text), view.MaxPayload)
	case !view.Editable(text):
		wrong = "Nothing was done: it had characters that cannot be seen. They are written as escapes now."
	case bytes.Equal(text, now.Payload):
		wrong = "Nothing was done: the payload is the same."
	}
	return editing.Edit{LetterID: e.Letter.LetterID, Rev: e.Letter.Rev, Payload: text, Metadata: now.Metadata}, wrong
}

// NewKey is what the page of a new key shows.
type NewKey struct {
	Form
	// Letter gets the key.
	Letter dlq.Letter
	// Conflict says that First is known: the message that had its key first.
	Conflict bool
	First    inspect.First
	// Steps are those that are called again.
	Steps []ledger.Row
	// Key is what was typed.
	Key string
}

// ReadNewKey reads what the page of a new key shows.
func ReadNewKey(ctx context.Context, r read.Reader, id int64) (*NewKey, error) {
	l, form, err := onLetter(ctx, r, id)
	k := &NewKey{Form: form, Letter: l, Conflict: l.Class == dlq.Conflict}
	if err != nil {
		return nil, err
	}
	if err := inspect.MayHaveKey(&l); err != nil {
		k.Why = err.Error()
		return k, nil
	}
	if k.Conflict {
		if k.First, err = inspect.FirstOf(ctx, r.Store, &l); err != nil {
			return nil, err
		}
	}
	k.Steps, err = inspect.CalledAgain(ctx, r.Store, &l)
	return k, err
}

// Write puts the key that was typed twice into the form, and returns what is asked for; wrong says why
// it cannot be.
func (k *NewKey) Write(key, again string) (args editing.NewKey, wrong string) {
	switch k.Key = key; {
	case strings.TrimSpace(key) == "":
		wrong = "Nothing was done: type the key."
	case key != again:
		wrong = "Nothing was done: the two keys differ."
	}
	return editing.NewKey{LetterID: k.Letter.LetterID, Rev: k.Letter.Rev, Key: key}, wrong
}

// Cancel is what the page shows on which a message that waits is cancelled.
type Cancel struct {
	Form
	// Row is the message; its RowID is 0 if it does not wait any more.
	Row backlog.Row
}

// ReadCancel reads what the page shows on which the message of a row is cancelled.
func ReadCancel(ctx context.Context, r read.Reader, id int64) (c *Cancel, err error) {
	c = &Cancel{}
	c.Row, err = r.Store.Operations().Waiting.Get(ctx, id)
	switch {
	case errors.Is(err, backlog.ErrNotFound):
		c.Why = "it does not wait any more: it was handled or cancelled"
		return c, nil
	case err != nil:
		return nil, err
	case c.Row.Delivery.Key == "":
		c.Why = "its consumer has not computed its key yet"
	}
	c.Seen = view.Seen(id, c.Row.Delivery.Key, c.Row.Delivery.Attempt)
	c.Idle, err = r.Idle(ctx, c.Row.Consumer)
	return c, err
}

// Args are what is asked for.
func (c *Cancel) Args() intervene.Args {
	return intervene.Args{Keys: []string{c.Row.Delivery.Key}, Handler: c.Row.Handler}
}
