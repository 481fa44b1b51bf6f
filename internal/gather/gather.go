package gather

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// Gatherer writes items. It is safe for concurrent use.
type Gatherer[T any] struct {
	// Most bounds the items of a batch.
	Most int
	// Together writes several items, and reports whether it wrote all of them.
	Together func(context.Context, []T) (bool, error)
	// Alone writes one item, and reports whether it did.
	Alone func(context.Context, T) (bool, error)

	mu    sync.Mutex
	busy  bool // a write is under way
	queue []*waiter[T]
}

// waiter is a caller that waits.
type waiter[T any] struct {
	item T
	// said gets what to do, once.
	said chan next
}

// next is what a waiter does.
type next int

const (
	lead    next = iota // write the next batch
	written             // return: the batch is written, with the item
	alone               // write the item: the batch may not have
)

// Do writes an item, and reports whether it did. It blocks until the item is written, or
// ctx ends; in the latter case it may be written all the same.
func (g *Gatherer[T]) Do(ctx context.Context, item T) (bool, error) {
	w := &waiter[T]{item, make(chan next, 1)}
	if !g.begin(w) {
		select {
		case said := <-w.said:
			switch said {
			case written:
				return true, nil
			case alone:
				return g.Alone(ctx, item)
			}
		case <-ctx.Done():
			g.leave(w)
			return false, fmt.Errorf("wait for another write: %w", context.Cause(ctx))
		}
	}
	did, sure, err := g.write(ctx, item)
	if !sure {
		return g.Alone(ctx, item)
	}
	return did, err
}

// write writes a batch: item, and those that wait. It reports whether item was written, and
// whether that is sure.
func (g *Gatherer[T]) write(ctx context.Context, item T) (did, sure bool, err error) {
	defer g.end()
	others := g.take()
	if len(others) == 0 {
		did, err = g.Alone(ctx, item)
		return did, true, err
	}
	said := alone
	defer func() { // also if Together panics
		for _, o := range others {
			o.said <- said
		}
	}()
	items := []T{item}
	for _, o := range others {
		items = append(items, o.item)
	}
	if all, err := g.Together(ctx, items); err != nil || !all {
		return false, false, nil // the single writes return what is wrong
	}
	said = written
	return true, true, nil
}

// begin reports whether w writes the next batch; otherwise it waits.
func (g *Gatherer[T]) begin(w *waiter[T]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.busy {
		g.queue = append(g.queue, w)
		return false
	}
	g.busy = true
	return true
}

// take takes those that wait, up to Most with the caller.
func (g *Gatherer[T]) take() []*waiter[T] {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := min(len(g.queue), g.Most-1)
	others := slices.Clone(g.queue[:n])
	g.queue = slices.Delete(g.queue, 0, n)
	return others
}

// end ends a write. The caller that has waited longest writes the next batch.
func (g *Gatherer[T]) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.busy = len(g.queue) > 0; g.busy {
		g.queue[0].said <- lead
		g.queue = slices.Delete(g.queue, 0, 1)
	}
}

// leave ends the wait of w, which does not write.
func (g *Gatherer[T]) leave(w *waiter[T]) {
	g.mu.Lock()
	at := slices.Index(g.queue, w)
	if at >= 0 {
		g.queue = slices.Delete(g.queue, at, at+1)
	}
	g.mu.Unlock()
	select {
	case said := <-w.said:
		if said == lead {
			g.end()
		}
	default: // it is in a batch, or was in the queue
	}
}
