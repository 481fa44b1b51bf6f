package search

import (
	"context"
	"math"
	"time"

	"github.com/headrace/headrace/dlq"
)

// Disorder is more than how much earlier a letter may have been written than one with a lower
// id: the time of the longest statement, and steps of the database's clock.
const Disorder = 5 * time.Minute

// mostProbes is how many letters one request looks at to turn times into bounds of ids.
const mostProbes = 20

// bounds narrows a span to the ids that letters of f's times can have.
func bounds(ctx context.Context, st dlq.Windows, f dlq.Filter, within dlq.Span) (dlq.Span, error) {
	if f.Since.IsZero() && f.Until.IsZero() {
		return within, nil
	}
	newest, _, err := st.Created(ctx, math.MaxInt64)
	if err != nil || newest == 0 {
		return within, err
	}
	probes := mostProbes - 1
	if !f.Since.IsZero() && !f.Until.IsZero() {
		probes /= 2
	}
	if !f.Since.IsZero() {
		// Every letter up to low was written before Since.
		low, _, err := narrow(ctx, st, within.Above, newest, probes, func(at time.Time) bool { return at.Before(f.Since.Add(-Disorder)) })
		if err != nil {
			return within, err
		}
		within.Above = max(within.Above, low)
	}
	if !f.Until.IsZero() {
		// Every letter from high on was written at Until or later.
		_, high, err := narrow(ctx, st, within.Above, newest, probes, func(at time.Time) bool { return at.Before(f.Until.Add(Disorder)) })
		if err != nil {
			return within, err
		}
		if high != 0 && (within.Below == 0 || high < within.Below) {
			within.Below = high
		}
	}
	return within, nil
}

// narrow looks for the place, between two ids, from which on the letters are no longer early.
// It returns the highest id that it saw of an early one, or low, and the lowest of one that is
// not, or 0.
func narrow(ctx context.Context, st dlq.Windows, low, newest int64, probes int, early func(time.Time) bool) (below, above int64, err error) {
	for high := newest + 1; probes > 0 && low+1 < high; probes-- {
		middle := low + (high-low)/2
		id, at, err := st.Created(ctx, middle)
		switch {
		case err != nil:
			return 0, 0, err
		case id <= low: // there is no letter between low and middle
			low = middle
		case early(at):
			low = middle // nothing is between id and middle
			below = id
		default:
			high, above = id, id
		}
	}
	return below, above, nil
}
