package fault

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// Store returns st with at called at its points. It is a store.Migrator and a
// store.Checker if st is, and its outbox an outbox.SingleWriter if that of st is.
func Store(st store.Store, at Hook) store.Store {
	w := &wrapped{Store: st, at: at, kinds: newKinds()}
	m, migrates := st.(store.Migrator)
	c, checks := st.(store.Checker)
	if migrates && checks {
		return struct {
			*wrapped
			store.Migrator
			store.Checker
		}{w, m, c}
	}
	return w
}

type wrapped struct {
	store.Store
	at    Hook
	kinds *kinds
}

func (w *wrapped) Begin(ctx context.Context) (*txn.Txn, error) {
	if err := w.at.reach(Call); err != nil {
		return nil, err
	}
	return w.Store.Begin(ctx)
}

func (w *wrapped) Ping(ctx context.Context) error {
	if err := w.at.reach(Call); err != nil {
		return err
	}
	return w.Store.Ping(ctx)
}

func (w *wrapped) Commit(ctx context.Context, t *txn.Txn, events []outbox.Row) error {
	before, after := w.kinds.of(t).points()
	for _, p := range []Point{Call, before} {
		if err := w.at.reach(p); err != nil {
			t.Discard()
			return err
		}
	}
	if err := w.Store.Commit(ctx, t, events); err != nil {
		return err
	}
	if err := w.at.reach(after); err != nil {
		return fmt.Errorf("%w: %w", txn.ErrCommitUnknown, err)
	}
	return nil
}

func (w *wrapped) Inbox() inbox.Store { return inboxStore{w.Store.Inbox(), w} }

func (w *wrapped) Backlog() backlog.Tables {
	b := w.Store.Backlog()
	if b.Leases != nil {
		b.Leases = leases{b.Leases, w}
	}
	return b
}

func (w *wrapped) Outbox() store.Outbox {
	o := w.Store.Outbox()
	if _, ok := o.(outbox.SingleWriter); ok {
		return singleWriter{outboxStore{o, w}}
	}
	return outboxStore{o, w}
}

func (w *wrapped) Letters() dlq.Store { return letters{w.Store.Letters(), w} }

func (w *wrapped) Operations() store.Operations {
	o := w.Store.Operations()
	if o.Instances != nil {
		o.Instances = instances{o.Instances, w.at}
	}
	if o.Marks != nil {
		o.Marks = marks{o.Marks, w.at}
	}
	if o.Steps != nil {
		o.Steps = steps{o.Steps, w.at}
	}
	if o.Memos != nil {
		o.Memos = memos{o.Memos, w.at}
	}
	if o.Pruner != nil {
		o.Pruner = pruner{o.Pruner, w.at}
	}
	return o
}
