package gather

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// Gatherer writes items. It is safe for concurrent use.
type Gatherer[T any] struct {
	// Most bounds the items of a flight.
	Most int
	// Together writes several items, and reports whether it wrote all of them.
	Together func(context.Context, []T) (bool, error)
	// Alone writes one item, and reports whether it did.
	Alone func(context.Context, T) (bool, error)

	mu     sync.Mutex
	flying bool
	queue  []*waiter[T]
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
	lead    next = iota // the flight that begins now
	written             // return: the flight has written it
	alone               // write it, since the flight says nothing
)

// Do writes an item, and reports whether it did. It blocks until the item is written, or
// ctx ends; in the latter case it may be written all the same.
func (g *Gatherer[T]) Do(ctx context.Context, item T) (bool, error) {
	w := &waiter[T]{item, make(chan next, 1)}
	if !g.enter(w) {
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
	did, sure, err := g.fly(ctx, item)
	if !sure {
		return g.Alone(ctx, item)
	}
	return did, err
}

// fly writes item, and those of who waits, and reports whether item was written, and
// whether that is sure.
func (g *Gatherer[T]) fly(ctx context.Context, item T) (did, sure bool, err error) {
	defer g.land()
	others := g.board()
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
		return false, false, nil // what is wrong, the single writes say
	}
	said = written
	return true, true, nil
}

// enter reports whether w leads a flight; otherwise it waits.
func (g *Gatherer[T]) enter(w *waiter[T]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.flying {
		g.queue = append(g.queue, w)
		return false
	}
	g.flying = true
	return true
}

// board takes those that fly with the leader.
func (g *Gatherer[T]) board() []*waiter[T] {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := min(len(g.queue), g.Most-1)
	others := slices.Clone(g.queue[:n])
	g.queue = slices.Delete(g.queue, 0, n)
	return others
}

// land ends a flight; the next one is led by who has waited longest.
func (g *Gatherer[T]) land() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.flying = len(g.queue) > 0; g.flying {
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
			g.land()
		}
	default: // it is in a flight, or was in the queue
	}
}
