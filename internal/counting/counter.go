package counting

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/headrace/headrace/audit"
	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/internal/telemetry"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

const (
	// changesAtOnce and groupsAtOnce bound a transaction.
	changesAtOnce = 5000
	groupsAtOnce  = 500
)

// New returns the Counter of a store.
func New(st store.Store) *Counter {
	return &Counter{Store: st, Groups: st.Operations().Groups, Audit: st.Operations().Audit}
}

// Counter adds up the changes of a database's letters. It is safe for concurrent use.
type Counter struct {
	// Store is the database; Groups and Audit are its own.
	Store  store.Transactor
	Groups groups.Store
	Audit  audit.Store
	// Upkeep records which groups were opened, and looks for them; nil records nothing.
	Upkeep *telemetry.Upkeep
}

// AddUp adds up the changes that are there. It returns early, without an error, if another process
// counts. It blocks until they are added up, or ctx ends.
func (c *Counter) AddUp(ctx context.Context) error {
	for {
		_, waits, err := c.Groups.Behind(ctx)
		if err != nil || !waits {
			return err
		}
		more := false
		err = c.transact(ctx, func(t *txn.Txn) (changed []groups.Group, err error) {
			changed, more, err = c.addUp(ctx, t)
			return changed, err
		})
		if err != nil {
			return fmt.Errorf("add up dead letters: %w", err)
		}
		if !more {
			return nil
		}
	}
}

// transact runs f in a transaction, and counts the groups that f has given another state.
func (c *Counter) transact(ctx context.Context, f func(t *txn.Txn) ([]groups.Group, error)) error {
	var changed []groups.Group
	err := store.Transact(ctx, c.Store, func(t *txn.Txn) (err error) {
		changed, err = f(t)
		return err
	})
	if err != nil {
		return err
	}
	for _, g := range changed {
		c.Upkeep.GroupOpened(g.Consumer, string(g.State))
	}
	return nil
}

// addUp adds up some changes, and returns the groups that have another state now, and whether
// there may be more changes.
func (c *Counter) addUp(ctx context.Context, t *txn.Txn) (changed []groups.Group, more bool, err error) {
	now, locked, err := c.Groups.Lock(ctx, t)
	if err != nil || !locked {
		return nil, false, err
	}
	changes, err := c.Groups.Take(ctx, t, changesAtOnce)
	if err != nil || len(changes) == 0 {
		return nil, false, err
	}
	sums := groups.Add(changes)
	ids := slices.SortedFunc(maps.Keys(sums), compare)
	known, err := c.Groups.Get(ctx, t, ids)
	if err != nil {
		return nil, false, err
	}
	byID := make(map[groups.ID]groups.Group, len(known))
	for _, g := range known {
		byID[g.ID] = g
	}
	list, hours := make([]groups.Group, len(ids)), make(map[groups.ID][]groups.Hour)
	for i, id := range ids {
		list[i] = byID[id]
		list[i].ID = id
		hours[id] = sums[id].Hours
	}
	changed, err = c.decide(ctx, t, now, list, sums, hours)
	return changed, len(changes) == changesAtOnce, err
}

// Review decides the states that time alone changes. Otherwise it is as AddUp.
func (c *Counter) Review(ctx context.Context) error {
	due, err := c.Groups.Due(ctx)
	if err != nil || !due {
		return err
	}
	err = c.transact(ctx, func(t *txn.Txn) ([]groups.Group, error) {
		now, locked, err := c.Groups.Lock(ctx, t)
		if err != nil || !locked {
			return nil, err
		}
		list, err := c.Groups.Overdue(ctx, t, groupsAtOnce)
		if err != nil || len(list) == 0 {
			return nil, err
		}
		return c.decide(ctx, t, now, list, nil, nil)
	})
	if err != nil {
		return fmt.Errorf("review groups of dead letters: %w", err)
	}
	return nil
}

// decide applies sums to the groups of list, writes what became of them, and returns those
// whose state changed. hours are those of the sums.
func (c *Counter) decide(ctx context.Context, t *txn.Txn, now time.Time, list []groups.Group, sums map[groups.ID]*groups.Sum, hours map[groups.ID][]groups.Hour) (changed []groups.Group, err error) {
	ids := make([]groups.ID, len(list))
	for i, g := range list {
		ids[i] = g.ID
	}
	week, err := c.Groups.Week(ctx, t, ids)
	if err != nil {
		return nil, err
	}
	unfinished, err := c.Groups.Unfinished(ctx, t, ids)
	if err != nil {
		return nil, err
	}
	builds := make(map[string][]groups.Build)
	for i := range list {
		g := &list[i]
		if _, ok := builds[g.Consumer]; !ok {
			if builds[g.Consumer], err = c.Groups.Order(ctx, t, g.Consumer); err != nil {
				return nil, err
			}
		}
		f := groups.Facts{Now: now, Unfinished: unfinished[g.ID], Hours: week[g.ID], Builds: builds[g.Consumer]}
		for _, h := range hours[g.ID] {
			f.Hours = groups.AddHour(f.Hours, h)
		}
		was := g.State
		if why := g.Apply(sums[g.ID], f); why != "" {
			if err := c.record(ctx, t, g, was, why); err != nil {
				return nil, err
			}
			changed = append(changed, *g)
		}
	}
	return changed, c.Groups.Put(ctx, t, list, hours)
}

// record says in the audit why the state of a group changed.
func (c *Counter) record(ctx context.Context, t *txn.Txn, g *groups.Group, was groups.State, why string) error {
	if was != "" {
		why = "was " + string(was) + ": " + why
	}
	return c.Audit.Record(ctx, t, audit.Row{
		Kind: audit.Group, Subject: g.ErrorFingerprint, Action: string(g.State), By: "headrace", Reason: why, Detail: g.Consumer + "/" + g.Handler,
	})
}

func compare(a, b groups.ID) int {
	return strings.Compare(a.Consumer+"\x00"+a.Handler+"\x00"+a.ErrorFingerprint, b.Consumer+"\x00"+b.Handler+"\x00"+b.ErrorFingerprint)
}
