package inspect

import (
	"context"
	"slices"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/store"
)

// MayHaveKey refuses a letter that may not have a new key. The error matches instance.ErrRefused.
func MayHaveKey(l *dlq.Letter) error {
	switch {
	case l.State != dlq.Open:
		return instance.Refuse("letter %d is %s", l.LetterID, l.State)
	case l.Class != dlq.Conflict && !inbox.IsStandIn(l.Delivery.Key):
		return instance.Refuse("letter %d has the key %s: only a conflict, or a letter without a key, may have another one", l.LetterID, l.Delivery.Key)
	}
	return nil
}

// First is the message that had the key of a conflict first.
type First struct {
	// Entry is its inbox row; its State is "" if that is gone.
	inbox.Entry
	// LetterID is a letter of it, by which its content is known, and Places say where the conflict
	// differs from that, as Difference does; 0 if its content is not kept.
	LetterID int64
	Places   []string
}

// maxFirst bounds the letters of a key among which one of the first message is looked for.
const maxFirst = 1000

// FirstOf reads what is known of the message that had the key of a conflict first.
func FirstOf(ctx context.Context, st store.Store, l *dlq.Letter) (f First, err error) {
	entries, err := st.Inbox().Find(ctx, l.Delivery.Key)
	if err != nil {
		return f, err
	}
	if i := slices.IndexFunc(entries, func(e inbox.Entry) bool { return e.ID == l.ID() }); i >= 0 {
		f.Entry = entries[i]
	}
	letters, err := st.Letters().List(ctx, dlq.Filter{Key: l.Delivery.Key, Consumer: l.Consumer, Handler: l.Handler, AnyState: true}, 0, maxFirst)
	if err != nil {
		return f, err
	}
	i := slices.IndexFunc(letters, func(o dlq.Letter) bool {
		return o.Class != dlq.Conflict && o.Delivery.Fingerprint == l.FirstFingerprint
	})
	if i < 0 {
		return f, nil
	}
	first, err := st.Letters().Get(ctx, letters[i].LetterID)
	if err != nil {
		return f, err
	}
	from, to := first.Message(), l.Message()
	f.LetterID = first.LetterID
	f.Places = Difference(dlq.Content{Payload: from.Payload, Metadata: from.Metadata}, dlq.Content{Payload: to.Payload, Metadata: to.Metadata})
	return f, nil
}

// CalledAgain returns the steps that the message of a letter calls again under a new key.
func CalledAgain(ctx context.Context, st store.Store, l *dlq.Letter) ([]ledger.Row, error) {
	rows, err := st.Operations().Steps.List(ctx, l.ID())
	return slices.DeleteFunc(rows, func(r ledger.Row) bool { return !r.MayHaveCalled() }), err
}
