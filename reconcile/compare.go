package reconcile

import (
	"context"
	"fmt"
	"time"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/intent"
	"github.com/headrace/headrace/retry"
)

// Result is the answer to a tick.
type Result struct {
	// From and To are the window that the last run has compared.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Checked are the items in the window, Outside those that the source gave beside it.
	Checked int `json:"checked"`
	Outside int `json:"outside,omitempty"`
	// Missing are those without a message, Enqueued those of them that were started; after a
	// run that was killed in the middle also those that came before the next one. Late are
	// those whose message came before they could be, Conflicts those whose message came with
	// other content. Left are those beyond what one run starts: the next one does.
	Missing   int `json:"missing"`
	Enqueued  int `json:"enqueued"`
	Late      int `json:"late,omitempty"`
	Conflicts int `json:"conflicts,omitempty"`
	Left      int `json:"left,omitempty"`
	// Gap is the time that could not be compared, since messages of it may be pruned.
	Gap *Gap `json:"gap,omitempty"`
	// Keys are the first 100 that are missing.
	Keys []string `json:"keys"`
}

// Gap is a time that was not compared: from From, before To.
type Gap struct {
	// From and To are its ends.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// add adds what an earlier run has found, and started in part.
func (r *Result) add(before Result) {
	if before.Missing > r.Missing {
		r.Enqueued = before.Missing - r.Missing
		r.Missing, r.Keys = before.Missing, before.Keys
	}
}

// found is what a run has found.
type found[T any] struct {
	window  Window
	gap     Window // not compared
	checked int
	outside int
	missing []lost[T]
	more    int // missing items that are not held
}

// lost is a missing item.
type lost[T any] struct {
	key  string
	item Item[T]
}

func (f *found[T]) total() int { return len(f.missing) + f.more }

// within drops the missing items before kept: while the source was read, their messages may
// have been pruned.
func (f *found[T]) within(kept time.Time) {
	rest, gap := f.window.after(kept)
	if gap.empty() {
		return
	}
	if f.gap.empty() {
		f.gap.From = gap.From
	}
	f.window, f.gap.To = rest, gap.To
	held := f.missing[:0]
	for _, l := range f.missing {
		if rest.contains(l.item.At) {
			held = append(held, l)
		}
	}
	f.missing = held
}

// result is what the answer says before anything is started.
func (f *found[T]) result() Result {
	r := Result{From: f.window.From, To: f.window.To, Checked: f.checked, Outside: f.outside, Missing: f.total(), Keys: []string{}}
	if !f.gap.empty() {
		r.Gap = &Gap{f.gap.From, f.gap.To}
	}
	for _, l := range f.missing[:min(len(f.missing), maxKeys)] {
		r.Keys = append(r.Keys, l.key)
	}
	return r
}

// compare reads the source to its end, and looks for the messages of its items.
func compare[T any](ctx context.Context, finder inbox.Finder, kind intent.Kind[T], source Source[T], w Window, f *found[T]) error {
	f.window = w
	if w.empty() {
		return nil
	}
	known := make(map[string]bool) // keys of f.missing
	var batch []lost[T]
	look := func() error {
		keys := make([]string, len(batch))
		for i, l := range batch {
			keys[i] = l.key
		}
		missing, err := finder.Missing(ctx, kind.Scope(), keys)
		if err != nil {
			return fmt.Errorf("look for the messages of items: %w", err)
		}
		f.note(batch, missing, known)
		batch = batch[:0]
		return nil
	}
	for item, err := range source(ctx, w) {
		switch {
		case err != nil:
			return fmt.Errorf("read the source of truth: %w", err)
		case ctx.Err() != nil:
			return fmt.Errorf("read the source of truth: %w", context.Cause(ctx))
		case item.At.IsZero():
			return retry.Permanent(fmt.Errorf("item %d of the source of truth has no At: whether its message may be pruned is not known", f.checked+f.outside+1))
		case !w.contains(item.At):
			f.outside++
			continue
		}
		d, err := kind.Delivery(item.request())
		if err != nil {
			return retry.Permanent(fmt.Errorf("item %d of the source of truth: %w", f.checked+f.outside+1, err))
		}
		f.checked++
		if batch = append(batch, lost[T]{d.Key, item}); len(batch) == page {
			if err := look(); err != nil {
				return err
			}
		}
	}
	if err := ctx.Err(); err != nil { // the source may have ended because of it
		return fmt.Errorf("read the source of truth: %w", context.Cause(ctx))
	}
	return look()
}

// note notes the items of a batch whose keys are missing, each key once.
func (f *found[T]) note(batch []lost[T], missing []string, known map[string]bool) {
	gone := make(map[string]bool, len(missing))
	for _, key := range missing {
		gone[key] = true
	}
	for _, l := range batch {
		if !gone[l.key] || known[l.key] {
			continue
		}
		known[l.key] = true
		if len(f.missing) == maxHeld {
			f.more++
			continue
		}
		f.missing = append(f.missing, l)
	}
}
