package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/editing"
	"github.com/headrace/headrace/internal/inspect"
	"github.com/headrace/headrace/internal/migrate"
)

// redriveNewKey redrives one letter under a key that a person gives: the only way to apply a message
// twice.
func (m *Main) redriveNewKey(ctx context.Context, d *decideFlags, args []string) error {
	filtered, key := d.filter.given(), d.newKey
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
		if err := inspect.MayHaveKey(&l); err != nil {
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
		if _, err := ask[editing.NewKey](ctx, m, st, r, editing.NewKey{LetterID: l.LetterID, Rev: l.Rev, Key: key}, instance.Valid); err != nil {
			return err
		}
		one := 1
		if m.json() {
			return m.emitJSON("", outcome{Redriven: &one})
		}
		if err := m.line("letter %d redriven under the key %s", l.LetterID, key); err != nil {
			return err
		}
		m.next("inbox show -- %s", migrate.Quote(key))
		return nil
	})
}

// sayFirst says what is known of the message that had a conflict's key first.
func (m *Main) sayFirst(ctx context.Context, st openStore, l *dlq.Letter) error {
	first, err := inspect.FirstOf(ctx, st, l)
	if err != nil {
		return err
	}
	said := "is gone"
	if first.State != "" {
		said = fmt.Sprintf("is %s since %s", first.State, m.when(first.At))
	}
	m.say("the first message under the key %s %s", l.Delivery.Key, said)
	if first.LetterID == 0 {
		m.say("what it said is not kept; its fingerprint was %s, and this one has %s", l.FirstFingerprint, l.Delivery.Fingerprint)
		return nil
	}
	m.say("from letter %d of it, this one differs:", first.LetterID)
	for _, place := range first.Places {
		m.say("  %s", place)
	}
	return nil
}
