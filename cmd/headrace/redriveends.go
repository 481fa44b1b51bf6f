package main

import (
	"context"
	"slices"
	"time"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/dlq/redrive"
)

const (
	// resolvedWait is how long the command waits for a process to resolve the groups of a redrive that has just ended.
	resolvedWait = 2 * time.Second
	// resolvedShown is how many of them it names.
	resolvedShown = 5
)

// emptied returns the groups that a redrive has left without an open letter: that of its filter, or
// those that were resolved since it was applied.
func emptied(ctx context.Context, st openStore, r job.Redrive) (list []groups.Group, waits bool, err error) {
	if r.Kind != job.Redriving || r.State != job.Done || r.Succeeded == 0 {
		return nil, false, nil
	}
	list, err = st.Operations().Groups.List(ctx, groups.Filter{Consumer: r.Consumer, Handler: r.Handler, ErrorFingerprint: r.ErrorFingerprint, Closed: true})
	list = slices.DeleteFunc(list, func(g groups.Group) bool {
		resolved := g.State == groups.Resolved && !g.StateAt.Before(r.Applied)
		if g.Open > 0 || r.ErrorFingerprint == "" && !resolved {
			return true
		}
		waits = waits || !resolved && g.State != groups.Resolved
		return !resolved && g.State == groups.Resolved // before this redrive
	})
	return list, waits, err
}

// awaitResolved waits for the groups of a redrive that has ended.
func awaitResolved(ctx context.Context, st openStore, r job.Redrive) error {
	for end := time.Now().Add(resolvedWait); ; {
		_, waits, err := emptied(ctx, st, r)
		if err != nil || !waits || time.Now().After(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(askEvery):
		}
	}
}

// printResolved says which groups are resolved since a redrive was applied.
func (m *Main) printResolved(ctx context.Context, st openStore, r job.Redrive) error {
	list, _, err := emptied(ctx, st, r)
	if err != nil {
		return err
	}
	for _, g := range list[:min(len(list), resolvedShown)] {
		says := "is " + stateOfGroup(g)
		if g.State != groups.Resolved {
			says = "has no open letter any more: a process resolves it within seconds"
		}
		if err := m.line("%s %s", short(g.ErrorFingerprint, 16), says); err != nil {
			return err
		}
	}
	if n := len(list) - resolvedShown; n > 0 {
		return m.line("and %s resolved", plural(n, "other group is", "other groups are"))
	}
	return nil
}

// printFailed says of letters that failed again where they are now, and returns the group of the last one.
func (m *Main) printFailed(ctx context.Context, st openStore, failed []redrivenView) (group groups.ID, err error) {
	var ids []int64
	for _, e := range failed {
		ids = append(ids, e.Next)
	}
	if len(ids) == 0 {
		return group, nil
	}
	letters, err := redrive.New(st).List(ctx, dlq.Filter{IDs: ids, AnyState: true}, 0, len(ids))
	if err != nil {
		return group, err
	}
	for _, e := range failed {
		says, where := "", ""
		for _, l := range letters {
			if l.LetterID == e.Next {
				group, where = groups.ID{Consumer: l.Consumer, Handler: l.Handler, ErrorFingerprint: l.ErrorFingerprint}, short(text(l.Error), 60)
				says = ", in group " + short(text(l.ErrorFingerprint), 16) + ": "
			}
		}
		if err := m.line("  letter %d failed again as letter %d%s%s", e.LetterID, e.Next, says, where); err != nil {
			return group, err
		}
	}
	return group, nil
}
