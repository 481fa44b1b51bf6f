package intent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/ledger"
)

// ErrUnknown matches the error for a key that no message of the handler has, or none any
// more: what ended is kept for the consumer's retention.
var ErrUnknown = errors.New("no such intent")

// Intent is what is known of an intent, or of any other message of its handler.
type Intent struct {
	// Entry says where it is, and since when. It is waiting until it is done, dead (see
	// Letter) or discarded. A dead one waits again after a redrive.
	inbox.Entry
	// New says that this Start was the first. After a COMMIT without an answer that was not
	// lost, it is false.
	New bool
	// Attempts are the runs that failed, oldest first. Steps are those of package ledger,
	// without long results.
	Attempts []inbox.Attempt
	Steps    []ledger.Row
	// Letter is the dead letter of one that is dead or discarded, without payload, headers
	// and stack; nil otherwise. A redrive of it resumes at the first step that is not done.
	Letter *dlq.Letter
	// Answer is what the handler passed to Answer; nil if it is not done, or gave none.
	Answer json.RawMessage
	// Until is when the record of one that ended goes, and its key with it, at the earliest.
	// Zero without Options.Window, and for one that is waiting or dead.
	Until time.Time
}

// Ended reports whether nothing more happens unless a person acts: it is done, dead or
// discarded.
func (i *Intent) Ended() bool { return i.State != "" && i.State != inbox.Waiting }

// Get returns what is known of the intent with this key, the Intent's or Delivery's Key. The
// error matches ErrUnknown if there is none. It reads table by table, so a change in between
// may show in some of the fields.
func (k Kind[T]) Get(ctx context.Context, c *Client, key string) (Intent, error) {
	if err := c.open(); err != nil {
		return Intent{}, err
	}
	return c.get(ctx, inbox.ID{Scope: k.Scope(), Key: key})
}

func (c *Client) get(ctx context.Context, id inbox.ID) (in Intent, err error) {
	rows, err := c.st.Inbox().Find(ctx, id.Key)
	if err != nil {
		return in, notSeen(ctx, err)
	}
	i := slices.IndexFunc(rows, func(e inbox.Entry) bool { return e.ID == id })
	if i < 0 {
		return in, fmt.Errorf("%w: %s %q", ErrUnknown, id.Scope, id.Key)
	}
	in.Entry = rows[i]
	if in.Attempts, err = c.st.Inbox().Attempts(ctx, id); err != nil {
		return in, notSeen(ctx, err)
	}
	if in.Steps, err = c.st.Operations().Steps.List(ctx, id); err != nil {
		return in, notSeen(ctx, err)
	}
	switch in.State {
	case inbox.Done:
		in.Answer, err = c.st.Operations().Answers.Get(ctx, id)
	case inbox.Dead:
		in.Letter, err = c.letter(ctx, id, dlq.Open)
	case inbox.Discarded:
		in.Letter, err = c.letter(ctx, id, dlq.Discarded)
	}
	if err != nil {
		return in, notSeen(ctx, err)
	}
	if c.o.Window > 0 && in.State.Ended() {
		in.Until = in.At.Add(c.o.Window)
	}
	return in, nil
}

// notSeen is the error of a query. A driver may say that it was cancelled in its own words
// alone, so the end of ctx is told with it.
func notSeen(ctx context.Context, err error) error {
	if ended := ctx.Err(); ended != nil {
		err = fmt.Errorf("%w: %w", ended, err)
	}
	return fmt.Errorf("look at an intent: %w", err)
}

// letterPage is how many letters are read at a time.
const letterPage = 100

// letter returns the newest letter of a message in a state; nil if it is gone. The letters
// of conflicts have the key too, and are of other messages.
func (c *Client) letter(ctx context.Context, id inbox.ID, state dlq.State) (*dlq.Letter, error) {
	for before := int64(0); ; {
		page, err := c.st.Letters().List(ctx, dlq.Filter{Key: id.Key, State: state}, before, letterPage)
		if err != nil {
			return nil, err
		}
		for i := range page {
			if page[i].ID() == id && page[i].Class != dlq.Conflict {
				return &page[i], nil
			}
		}
		if len(page) < letterPage {
			return nil, nil
		}
		before = page[len(page)-1].LetterID
	}
}
