package consumertest

import (
	"context"
	"slices"
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// soon replaces every longer delay.
const soon = time.Millisecond

// clock is the store of a process without waiting times: a delayed row is due at once,
// and the kit notes the delay that the policy gave.
type clock struct {
	store.Store
	p *process
}

// watched is the store that the process gets. Settle waits while it commits, and until
// the point after the commit.
type watched struct {
	store.Store
	k *Kit
}

func (w *watched) Commit(ctx context.Context, t *txn.Txn, events []outbox.Row) error {
	w.k.committing.Add(1)
	err := w.Store.Commit(ctx, t, events)
	w.k.pulse.beat() // before it is no longer under way: see Settle
	w.k.committing.Add(-1)
	w.k.pulse.beat()
	return err
}

// Begin puts the test's schema first in the search path of the transaction.
func (c *clock) Begin(ctx context.Context) (*txn.Txn, error) {
	t, err := c.Store.Begin(ctx)
	if place := c.p.k.place; err == nil && place.path != "" {
		if _, err = t.ExecContext(ctx, place.path, place.schema+",public"); err != nil {
			t.Rollback()
		}
	}
	return t, err
}

func (c *clock) Commit(ctx context.Context, t *txn.Txn, events []outbox.Row) error {
	events = slices.Clone(events)
	for i := range events {
		events[i].Event.Delay = 0
	}
	if err := c.Store.Commit(ctx, t, events); err != nil {
		return err
	}
	k := c.p.k
	k.mu.Lock()
	k.noteLocal(events)
	moved := k.moved[t]
	delete(k.moved, t)
	k.mu.Unlock()
	if moved {
		c.p.wake()
	}
	return nil
}

func (c *clock) Backlog() backlog.Tables {
	b := c.Store.Backlog()
	b.Store = clockBacklog{b.Store, c.p}
	b.Leases = clockLeases{b.Leases, c.p}
	return b
}

func (c *clock) Operations() store.Operations {
	o := c.Store.Operations()
	o.Instances = clockInstances{o.Instances, c.p}
	o.Marks = clockMarks{o.Marks, c.p}
	o.Steps = clockSteps{o.Steps, c.p.k}
	o.Memos = clockMemos{o.Memos, c.p}
	o.Subscriptions = notedSubscriptions{o.Subscriptions, c.p}
	return o
}

// noteDelay notes that t delays a message by d, and returns the delay to use instead.
func (k *Kit) noteDelay(t *txn.Txn, id inbox.ID, d time.Duration) time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.moved[t] = true
	if d <= 0 {
		return d
	}
	if id != (inbox.ID{}) {
		k.delays[id] = append(k.delays[id], d)
		k.story.add("%s is put off for %s, which takes no time here", id.Key, d)
	}
	return soon
}

// clockBacklog shortens every delay.
type clockBacklog struct {
	backlog.Store
	p *process
}

func (b clockBacklog) Put(ctx context.Context, t *txn.Txn, items []backlog.Item) error {
	items = slices.Clone(items)
	for i := range items {
		id := idOf(items[i].Delivery)
		b.p.k.notePostponed(id, items[i].Postponed > 0, items[i].Delay)
		items[i].Delay = b.p.k.noteDelay(t, id, items[i].Delay)
	}
	return b.Store.Put(ctx, t, items)
}

func (b clockBacklog) Read(ctx context.Context, t *txn.Txn, r backlog.ReadRequest) ([]backlog.Item, error) {
	items, err := b.Store.Read(ctx, t, r)
	b.p.k.noteRows(items)
	return items, err
}

func (b clockBacklog) Reschedule(ctx context.Context, t *txn.Txn, changes []backlog.Change) error {
	changes = slices.Clone(changes)
	k := b.p.k
	for i := range changes {
		k.mu.Lock()
		id := k.rows[changes[i].RowID]
		k.mu.Unlock()
		if changes[i].Postponed && changes[i].Delay > soonest && k.waits(ctx, id) {
			continue // until the test sends the signal
		}
		k.notePostponed(id, changes[i].Postponed, changes[i].Delay)
		changes[i].Delay = k.noteDelay(t, id, changes[i].Delay)
	}
	return b.Store.Reschedule(ctx, t, changes)
}

// notePostponed notes for how long a message has been put off without an attempt.
func (k *Kit) notePostponed(id inbox.ID, postponed bool, d time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !postponed {
		delete(k.postponed, id)
		return
	}
	k.postponed[id] += d
}

// noteRows remembers the messages of the rows, and has them be put off for as long as they
// should have been.
func (k *Kit) noteRows(items []backlog.Item) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range items {
		id := idOf(items[i].Delivery)
		k.rows[items[i].RowID] = id
		if items[i].Postponed > 0 {
			items[i].Postponed += k.postponed[id]
		}
	}
}

// clockLeases remembers the leases of a process.
type clockLeases struct {
	backlog.Leases
	p *process
}

func (l clockLeases) Claim(ctx context.Context, t *txn.Txn, consumer, handler, token string, term time.Duration, limit int) ([]backlog.Item, error) {
	items, err := l.Leases.Claim(ctx, t, consumer, handler, token, term, limit)
	l.p.k.noteRows(items)
	l.p.k.mu.Lock()
	defer l.p.k.mu.Unlock()
	for i := range items {
		l.p.leases = append(l.p.leases, backlog.Lease{RowID: items[i].RowID, Token: token})
	}
	return items, err
}

// clockMemos remembers the calls that a process makes for other messages too.
type clockMemos struct {
	ledger.Memos
	p *process
}

func (s clockMemos) Take(ctx context.Context, m ledger.Memo, term time.Duration) (ledger.MemoState, time.Duration, error) {
	s.p.k.mu.Lock()
	s.p.memos = append(s.p.memos, m)
	s.p.k.mu.Unlock()
	return s.Memos.Take(ctx, m, term)
}

// clockInstances makes crashed processes look silent for long.
type clockInstances struct {
	instance.Store
	p *process
}

func (s clockInstances) Start(ctx context.Context, i instance.Instance) error {
	s.p.k.mu.Lock()
	s.p.instance = i.ID
	s.p.k.mu.Unlock()
	return s.Store.Start(ctx, i)
}

func (s clockInstances) List(ctx context.Context, consumer string) ([]instance.Instance, error) {
	list, err := s.Store.List(ctx, consumer)
	k := s.p.k
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range list {
		if k.deadInstances[list[i].ID] {
			list[i].Age += time.Hour
		}
	}
	return list, err
}

// clockMarks counts the deaths of crashed processes without waiting.
type clockMarks struct {
	markStore
	p *process
}

type markStore interface{ instance.Marks }

func (s clockMarks) CountDeath(ctx context.Context, id string, missed time.Duration) (bool, error) {
	s.p.k.mu.Lock()
	if s.p.k.deadInstances[id] {
		missed = 0
	}
	s.p.k.mu.Unlock()
	return s.markStore.CountDeath(ctx, id, missed)
}
