package inspect

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/store"
)

// A group is named by the first LeastDigits of its fingerprint or more; all of it are AllDigits.
const LeastDigits, AllDigits = 4, 16

// Digits reports whether s may be the first digits of a fingerprint, or all.
func Digits(s string) bool {
	return len(s) >= LeastDigits && strings.Trim(s, "0123456789abcdef") == ""
}

// lateCount is after how long without a count the states of groups are called old.
const lateCount = time.Minute

// Late returns how long no process has counted letters; 0 if that is not long.
func Late(ctx context.Context, st store.Store) (time.Duration, error) {
	age, waits, err := st.Operations().Groups.Behind(ctx)
	if err != nil || !waits || age < lateCount {
		return 0, err
	}
	return age, nil
}

// Groups returns the groups of f: those with most open letters first, resolved ones and then
// muted ones last.
func Groups(ctx context.Context, st store.Store, f groups.Filter) ([]groups.Group, error) {
	list, err := st.Operations().Groups.List(ctx, f)
	now := time.Now()
	slices.SortStableFunc(list, func(a, b groups.Group) int { return rank(a, now) - rank(b, now) })
	return list, err
}

// Resolved returns the groups of f that are resolved, also without open letters: the one that was resolved last first.
func Resolved(ctx context.Context, st store.Store, f groups.Filter) ([]groups.Group, error) {
	f.Closed = true
	list, err := st.Operations().Groups.List(ctx, f)
	list = slices.DeleteFunc(list, func(g groups.Group) bool { return g.State != groups.Resolved })
	slices.SortStableFunc(list, func(a, b groups.Group) int { return b.ResolvedAt.Compare(a.ResolvedAt) })
	return list, err
}

func rank(g groups.Group, now time.Time) int {
	switch {
	case g.Muted(now):
		return 2
	case g.State == groups.Resolved:
		return 1
	}
	return 0
}

// GroupWords names a group in a command: by its fingerprint, and by its consumer and handler where another
// one shares that. quote quotes a name for a shell.
func GroupWords(ctx context.Context, st store.Store, g groups.ID, quote func(string) string) (string, error) {
	words := g.ErrorFingerprint
	same, err := st.Operations().Groups.List(ctx, groups.Filter{ErrorFingerprint: g.ErrorFingerprint, Closed: true})
	if len(same) > 1 && g.Consumer != "" {
		words += " --consumer " + quote(g.Consumer)
	}
	if len(same) > 1 && g.Handler != "" {
		words += " --handler " + quote(g.Handler)
	}
	return words, err
}

// Sample returns the newest letter of a group, an older one if only that is open; 0 if
// retention has removed it.
func Sample(ctx context.Context, st store.Store, g groups.Group) (int64, error) {
	newest, err := st.Letters().List(ctx, dlq.Filter{IDs: []int64{g.LastLetter}, AnyState: true}, 0, 1)
	if err != nil {
		return 0, err
	}
	if len(newest) > 0 && (newest[0].State == dlq.Open || g.Open == 0) {
		return g.LastLetter, nil
	}
	if g.Open > 0 {
		open, err := st.Letters().List(ctx, dlq.Filter{Consumer: g.Consumer, Handler: g.Handler, ErrorFingerprint: g.ErrorFingerprint}, 0, 1)
		if err != nil {
			return 0, err
		}
		if len(open) > 0 {
			return open[0].LetterID, nil
		}
	}
	if len(newest) > 0 {
		return g.LastLetter, nil
	}
	return 0, nil
}
