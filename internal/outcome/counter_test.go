package outcome_test

import (
	"context"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/enginetest"
	"github.com/headrace/headrace/store/txn"
)

// counter counts the calls that write.
type counter struct {
	*enginetest.Store
	calls map[string]int
}

func (c *counter) Inbox() inbox.Store { return &countedInbox{c.Store.Inbox(), c} }
func (c *counter) Letters() dlq.Store { return &countedLetters{c.Store.Letters(), c} }
func (c *counter) Backlog() backlog.Tables {
	tables := c.Store.Backlog()
	tables.Store = &countedBacklog{tables.Store, c}
	return tables
}

type countedInbox struct {
	inbox.Store
	c *counter
}

func (i *countedInbox) AddAttempts(ctx context.Context, t *txn.Txn, a []inbox.Attempt) ([]int, error) {
	i.c.calls["attempts"]++
	return i.Store.AddAttempts(ctx, t, a)
}

func (i *countedInbox) Transition(ctx context.Context, t *txn.Txn, ids []inbox.ID, from, to inbox.State) ([]inbox.ID, error) {
	i.c.calls["transition"]++
	return i.Store.Transition(ctx, t, ids, from, to)
}

func (i *countedInbox) MarkStale(ctx context.Context, t *txn.Txn, ids []inbox.ID) error {
	i.c.calls["stale"]++
	return i.Store.MarkStale(ctx, t, ids)
}

type countedLetters struct {
	dlq.Store
	c *counter
}

func (l *countedLetters) Insert(ctx context.Context, t *txn.Txn, letters []dlq.Letter) ([]dlq.Inserted, error) {
	l.c.calls["insert"]++
	return l.Store.Insert(ctx, t, letters)
}

type countedBacklog struct {
	backlog.Store
	c *counter
}

func (b *countedBacklog) Put(ctx context.Context, t *txn.Txn, items []backlog.Item) error {
	b.c.calls["put"]++
	return b.Store.Put(ctx, t, items)
}

func (b *countedBacklog) Delete(ctx context.Context, t *txn.Txn, rows []int64) error {
	b.c.calls["delete"]++
	return b.Store.Delete(ctx, t, rows)
}

func (b *countedBacklog) Reschedule(ctx context.Context, t *txn.Txn, changes []backlog.Change) error {
	b.c.calls["reschedule"]++
	return b.Store.Reschedule(ctx, t, changes)
}
