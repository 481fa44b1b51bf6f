package search

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/headrace/headrace/dlq"
)

// DefaultBudget is how long the statements of one answer take, roughly.
const DefaultBudget = 80 * time.Millisecond

// ToTheEnd is a budget without end.
const ToTheEnd time.Duration = -1

// The sizes of windows, in letters. The first window shows how long one takes; the next ones
// are for a part of the budget. The letters of a group or a key are all over the table, so
// their windows stay small.
const (
	firstWindow   = 4_000
	leastWindow   = 500
	mostWindow    = 14_000
	mostScattered = 2_000
	windowTime    = DefaultBudget / 2
)

// Request is one look at the letters of a filter.
type Request struct {
	// Filter chooses the letters.
	Filter dlq.Filter
	// Cursor is Progress.Cursor of the answer before; 0 begins at the newest letter.
	Cursor int64
	// Limit is how many letters are wanted, at least 1. Groups has none.
	Limit int
	// Budget bounds the time of the statements: a look ends after the window with which it is
	// used up. 0 means DefaultBudget, ToTheEnd no bound.
	Budget time.Duration
}

// Progress says how far an answer came.
type Progress struct {
	// Looked is how many letters the answer looked at, in the order of Request.
	Looked int64
	// Of is how many there are to look at, from the newest one on. It is exact at the end
	// of a walk that began without a cursor, and an estimate otherwise.
	Of int64
	// Cursor is where the next answer goes on; 0 at the end.
	Cursor int64
}

// Page is an answer of Letters.
type Page struct {
	// Letters are without payload, metadata and stack, newest first.
	Letters []dlq.Letter
	Progress
}

// GroupPage is an answer of Groups.
type GroupPage struct {
	// Groups count the letters that the answer looked at, largest group first.
	Groups []dlq.Group
	Progress
}

// Letters returns the newest letters of a filter below the cursor. The error matches
// ErrWhere if the filter's condition cannot be read.
func Letters(ctx context.Context, st dlq.Windows, r Request) (p Page, err error) {
	p.Progress, err = walk(ctx, st, r, func(w dlq.Span) (int64, error) {
		letters, err := st.ListIn(ctx, r.Filter, w, r.Limit+1-len(p.Letters)) // one more shows that there is more
		p.Letters = append(p.Letters, letters...)
		if len(p.Letters) <= r.Limit {
			return 0, err
		}
		p.Letters = p.Letters[:r.Limit]
		return p.Letters[r.Limit-1].LetterID, err
	})
	return p, err
}

// eachPage is how many letters Each holds at a time.
const eachPage = 500

// Each calls visit with the letters of a filter below the cursor, newest first, some hundred
// at a time, and none of them twice. It ends with the first error of visit. Limit is not used.
func Each(ctx context.Context, st dlq.Windows, r Request, visit func([]dlq.Letter) error) (Progress, error) {
	return walk(ctx, st, r, func(w dlq.Span) (int64, error) {
		for {
			letters, err := st.ListIn(ctx, r.Filter, w, eachPage)
			if err == nil && len(letters) > 0 {
				err = visit(letters)
			}
			if err != nil || len(letters) < eachPage {
				return 0, err
			}
			w.Below = letters[eachPage-1].LetterID
		}
	})
}

// Groups returns the groups of a filter, as counted from the cursor on. Errors are as in
// Letters.
func Groups(ctx context.Context, st dlq.Windows, r Request) (p GroupPage, err error) {
	p.Progress, err = walk(ctx, st, r, func(w dlq.Span) (int64, error) {
		groups, err := st.GroupsIn(ctx, r.Filter, w)
		p.Groups = Merge(p.Groups, groups)
		return 0, err
	})
	return p, err
}

// Count returns how many letters a filter has. It walks to the end, without a budget.
func Count(ctx context.Context, st dlq.Windows, f dlq.Filter) (n int64, err error) {
	_, err = walk(ctx, st, Request{Filter: f, Budget: ToTheEnd}, func(w dlq.Span) (int64, error) {
		groups, err := st.GroupsIn(ctx, f, w)
		for _, g := range groups {
			n += g.Count
		}
		return 0, err
	})
	return n, err
}

// walk calls visit with one window after the other, from the newest down. visit returns the
// cursor after what ends the walk; 0 goes on.
func walk(ctx context.Context, st dlq.Windows, r Request, visit func(dlq.Span) (int64, error)) (p Progress, err error) {
	budget := r.Budget
	if budget == 0 {
		budget = DefaultBudget
	}
	whole, err := bounds(ctx, st, r.Filter, dlq.Span{})
	if err != nil {
		return p, err
	}
	left := whole
	if r.Cursor != 0 && (left.Below == 0 || r.Cursor < left.Below) {
		left.Below = r.Cursor
	}
	var spent time.Duration
	for size := first(r.Filter); ; {
		start := time.Now()
		w, err := st.Window(ctx, r.Filter, left, size, false)
		if err != nil || w.Looked == 0 {
			return finish(ctx, st, r, whole, p, err)
		}
		cursor, err := visit(w.Span)
		took := time.Since(start)
		spent += took
		p.Looked += w.Looked
		ended := w.Above == left.Above
		below := left.Below
		left.Below = w.Above + 1
		switch {
		case err != nil:
			return p, err
		case cursor != 0: // it may be above the window: what was one more is in it
			part, err := st.Window(ctx, r.Filter, dlq.Span{Above: cursor - 1, Below: below}, size, false)
			p.Cursor, p.Looked = cursor, p.Looked-w.Looked+part.Looked
			return finish(ctx, st, r, whole, p, err)
		case ended:
			return finish(ctx, st, r, whole, p, nil)
		case budget != ToTheEnd && spent >= budget:
			p.Cursor = left.Below
			return finish(ctx, st, r, whole, p, nil)
		}
		wanted := windowTime
		if budget != ToTheEnd {
			wanted = min(wanted, budget-spent)
		}
		size = next(r.Filter, size, took, wanted)
	}
}

// most and first are the sizes of windows for a filter.
func most(f dlq.Filter) int {
	if f.ErrorFingerprint != "" || f.Key != "" || len(f.IDs) > 0 {
		return mostScattered
	}
	return mostWindow
}

func first(f dlq.Filter) int { return min(firstWindow, most(f)) }

// next is the size of the window after one of that size, which should take wanted.
func next(f dlq.Filter, size int, took, wanted time.Duration) int {
	n := float64(size) * float64(wanted) / float64(max(took, time.Microsecond))
	return int(min(max(n, leastWindow), float64(most(f))))
}

// finish estimates p.Of from how dense the ids are that the answer looked at.
func finish(ctx context.Context, st dlq.Windows, r Request, whole dlq.Span, p Progress, err error) (Progress, error) {
	p.Of = p.Looked
	if err != nil || p.Looked == 0 || p.Cursor == 0 && r.Cursor == 0 {
		return p, err
	}
	newest, err := st.Window(ctx, r.Filter, whole, 1, false)
	if err != nil || newest.Looked == 0 {
		return p, err
	}
	oldest, err := st.Window(ctx, r.Filter, whole, 1, true)
	if err != nil || oldest.Looked == 0 {
		return p, err
	}
	top, bottom := newest.Above+1, oldest.Below-1
	from, to := top, bottom
	if r.Cursor != 0 {
		from = min(from, r.Cursor-1)
	}
	if p.Cursor != 0 {
		to = max(to, p.Cursor)
	}
	if from >= to {
		p.Of = max(p.Of, int64(float64(p.Looked)*float64(top-bottom+1)/float64(from-to+1)))
	}
	return p, nil
}

// Merge returns the groups of all and more together, the largest first.
func Merge(all, more []dlq.Group) []dlq.Group {
	type name struct{ fingerprint, consumer, handler string }
	at := make(map[name]int, len(all))
	var merged []dlq.Group
	for _, g := range slices.Concat(all, more) {
		n := name{g.ErrorFingerprint, g.Consumer, g.Handler}
		i, known := at[n]
		if !known {
			at[n], merged = len(merged), append(merged, g)
			continue
		}
		m := &merged[i]
		m.Count += g.Count
		if g.First.Before(m.First) {
			m.First = g.First
		}
		if g.Last.After(m.Last) {
			m.Last = g.Last
		}
		if g.SampleID > m.SampleID {
			m.Class, m.Sample, m.SampleID = g.Class, g.Sample, g.SampleID
		}
	}
	slices.SortFunc(merged, func(a, b dlq.Group) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(b.SampleID, a.SampleID))
	})
	return merged
}
