package reconcile

import "time"

// windowOf returns the time that the run of a tick compares: from lookback before the tick,
// or from checked, until when an earlier run has compared (zero if none has), until grace
// before the tick. What is not younger than kept may be pruned: gap is what that leaves out,
// zero if nothing.
func windowOf(tick, checked, kept time.Time, lookback, grace time.Duration) (w, gap Window) {
	w = Window{From: tick.Add(-lookback), To: tick.Add(-grace)}
	if !checked.IsZero() && checked.Before(w.From) {
		w.From = checked
	}
	return w.after(kept)
}

// after returns the part of w that is not before kept, and the part that is.
func (w Window) after(kept time.Time) (rest, gap Window) {
	if !w.From.Before(kept) {
		return w, Window{}
	}
	if kept.After(w.To) {
		kept = w.To
	}
	return Window{From: kept, To: w.To}, Window{From: w.From, To: kept}
}

// empty reports whether no time is in w.
func (w Window) empty() bool { return !w.From.Before(w.To) }

// contains reports whether at is in w.
func (w Window) contains(at time.Time) bool { return !at.Before(w.From) && at.Before(w.To) }

// keptSince is from when on messages are surely known, after a cut; zero if nothing was
// pruned. margin bounds how much clocks differ.
func keptSince(cut time.Time, margin time.Duration) time.Time {
	if cut.IsZero() {
		return cut
	}
	return cut.Add(margin)
}

// beyond says which limit so many missing items of all exceed; "" if none.
func beyond(missing, all, mostMissing int, mostShare float64) string {
	switch {
	case missing > mostMissing:
		return "MostMissing"
	case all >= leastForShare && float64(missing) > mostShare*float64(all):
		return "MostShare"
	}
	return ""
}
