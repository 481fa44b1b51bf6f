package search

import (
	"context"
	"time"

	"github.com/headrace/headrace/dlq"
)

// Oldest walks over the letters of a filter from the oldest up, without a budget. It is not
// safe for concurrent use.
type Oldest struct {
	st   dlq.Windows
	f    dlq.Filter
	left dlq.Span
	size int
	ids  []int64 // found, and not returned yet
	end  bool
}

// NewOldest returns a walk over the letters of f within a span. Errors are as in Letters.
func NewOldest(ctx context.Context, st dlq.Windows, f dlq.Filter, within dlq.Span) (*Oldest, error) {
	within, err := bounds(ctx, st, f, within)
	return &Oldest{st: st, f: f, left: within, size: first(f)}, err
}

// NewOldestNow returns a walk over the letters of f that are there now: none that come meanwhile.
func NewOldestNow(ctx context.Context, st dlq.Windows, f dlq.Filter) (*Oldest, error) {
	newest, err := st.Window(ctx, dlq.Filter{AnyState: true}, dlq.Span{}, 1, false)
	switch {
	case err != nil:
		return nil, err
	case newest.Looked == 0:
		return &Oldest{end: true}, nil
	}
	return NewOldest(ctx, st, f, dlq.Span{Below: newest.Above + 2})
}

// Next returns the ids of the next letters, at most limit, lowest first. Fewer are the last.
func (o *Oldest) Next(ctx context.Context, limit int) ([]int64, error) {
	for len(o.ids) < limit && !o.end {
		if err := o.look(ctx); err != nil {
			return nil, err
		}
	}
	n := min(limit, len(o.ids))
	ids := o.ids[:n:n]
	o.ids = o.ids[n:]
	return ids, nil
}

// look looks at the next window.
func (o *Oldest) look(ctx context.Context) error {
	start := time.Now()
	w, more, err := o.Span(ctx, o.size)
	if err != nil || !more {
		return err
	}
	ids, err := o.st.IDsIn(ctx, o.f, w)
	o.ids = append(o.ids, ids...)
	o.size = next(o.f, o.size, time.Since(start), windowTime)
	return err
}

// Span returns the next window, of size letters that its statements look at, and false at the end.
// Its letters are not those that Next returns.
func (o *Oldest) Span(ctx context.Context, size int) (dlq.Span, bool, error) {
	if o.end {
		return dlq.Span{}, false, nil
	}
	w, err := o.st.Window(ctx, o.f, o.left, size, true)
	if err != nil {
		return dlq.Span{}, false, err
	}
	o.end = w.Looked == 0 || w.Below == o.left.Below
	o.left.Above = w.Below - 1
	return w.Span, w.Looked > 0, nil
}
