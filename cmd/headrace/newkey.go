package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/editing"
)

// redriveNewKey redrives one letter under a key that a person gives: the only way to apply a message
// twice.
func (m *Main) redriveNewKey(ctx context.Context, d *decideFlags, args []string) error {
	filtered, err := d.filter.given()
	if err != nil {
		return err
	}
	key := d.newKey
	switch {
	case len(args) != 1 || args[0] == "-" || filtered || d.all || d.limit.n > 0:
		return usagef("redrive: --new-key is for one id")
	case d.direct:
		return usagef("redrive: a new key is given by a process of the consumer, and not with --direct")
	case strings.TrimSpace(d.reason) == "":
		return usagef("redrive: say why with --reason")
	}
	ids, err := m.askFor(args, d.yes)
	if err != nil {
		return err
	}
	return m.withStore(ctx, func(st openStore) error {
		l, err := st.Letters().Get(ctx, ids[0])
		if err != nil {
			return err
		}
		if err := mayHaveKey(&l); err != nil {
			return err
		}
		if l.Class == dlq.Conflict {
			if err := m.sayFirst(ctx, st, &l); err != nil {
				return err
			}
		}
		if err := m.warnOfSteps(ctx, st, l.LetterID); err != nil {
			return err
		}
		if err := m.would(1, "redrive letter %d under the key %s", l.LetterID, key); err != nil {
			return err
		}
		if !d.yes {
			if err := m.confirmName(key, func(answer string) bool { return answer == key }, "redrive letter %d as a message of its own?", l.LetterID); err != nil {
				return err
			}
		}
		r := instance.Request{Kind: editing.NewKeyKind, Consumer: l.Consumer, By: operator(d.by), Reason: d.reason}
		if _, err := ask[editing.NewKey](ctx, st, r, editing.NewKey{LetterID: l.LetterID, Rev: l.Rev, Key: key}, instance.Valid); err != nil {
			return err
		}
		one := 1
		if m.json() {
			return m.emitJSON("", outcome{Redriven: &one})
		}
		if err := m.line("letter %d redriven under the key %s", l.LetterID, key); err != nil {
			return err
		}
		m.next("dlq show %d", l.LetterID)
		return nil
	})
}

// mayHaveKey refuses a letter that may not have a new key.
func mayHaveKey(l *dlq.Letter) error {
	switch {
	case l.State != dlq.Open:
		return instance.Refuse("letter %d is %s", l.LetterID, l.State)
	case l.Class != dlq.Conflict && !inbox.IsStandIn(l.Delivery.Key):
		return instance.Refuse("letter %d has the key %s: only a conflict, or a letter without a key, may have another one", l.LetterID, l.Delivery.Key)
	}
	return nil
}

// sayFirst says what is known of the message that had a conflict's key first.
func (m *Main) sayFirst(ctx context.Context, st openStore, l *dlq.Letter) error {
	key := l.Delivery.Key
	entries, err := st.Inbox().Find(ctx, key)
	if err != nil {
		return err
	}
	said := "the first message under the key " + key + " is gone"
	for _, e := range entries {
		if e.ID == l.ID() {
			said = fmt.Sprintf("the first message under the key %s is %s since %s", key, e.State, m.when(e.At))
		}
	}
	m.say("%s", said)
	// Its content is known only where it is, or was, a letter.
	letters, err := st.Letters().List(ctx, dlq.Filter{Key: key, Consumer: l.Consumer, Handler: l.Handler, AnyState: true}, 0, manyLetters)
	if err != nil {
		return err
	}
	for _, other := range letters {
		if other.Class == dlq.Conflict || other.Delivery.Fingerprint != l.FirstFingerprint {
			continue
		}
		first, err := st.Letters().Get(ctx, other.LetterID)
		if err != nil {
			return err
		}
		m.say("from letter %d of it, this one differs:", first.LetterID)
		from, to := first.Message(), l.Message()
		for _, place := range difference(dlq.Content{Payload: from.Payload, Metadata: from.Metadata}, dlq.Content{Payload: to.Payload, Metadata: to.Metadata}) {
			m.say("  %s", place)
		}
		return nil
	}
	m.say("what it said is not kept; its fingerprint was %s, and this one has %s", l.FirstFingerprint, l.Delivery.Fingerprint)
	return nil
}
