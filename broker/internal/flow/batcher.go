package flow

import (
	"context"
	"sync"
	"time"

	"github.com/headrace/headrace/internal/sleep"
)

// linger is how long a request waits for more items: the settlements of one commit come
// one after the other.
const linger = 2 * time.Millisecond

// Batcher processes items, many in one request, and repeats that until it is done.
type Batcher[T any] struct {
	// Do processes items, and returns those to try again. An error is one of the whole
	// request.
	Do func(ctx context.Context, items []T) (again []T, err error)
	// Trouble records failures and successes.
	Trouble *Outage
	// Batch is how many items go in one request, Workers how many requests may run at
	// once.
	Batch, Workers int
	// Timeout bounds one request.
	Timeout time.Duration

	in      chan T
	workers sync.WaitGroup
}

// Start starts the workers, whose requests end with ctx. At most most items may be in it
// at once.
func (b *Batcher[T]) Start(ctx context.Context, most int) {
	b.in = make(chan T, most)
	for range b.Workers {
		b.workers.Go(func() {
			for item := range b.in {
				b.settle(ctx, b.gather(item))
			}
		})
	}
}

// Stop waits until all added items are done, or the context of Start has ended. Add must
// not be called any more.
func (b *Batcher[T]) Stop() {
	close(b.in)
	b.workers.Wait()
}

// Add adds an item, and does not wait.
func (b *Batcher[T]) Add(item T) { b.in <- item }

// gather returns item and those that come within linger.
func (b *Batcher[T]) gather(item T) []T {
	batch := append(make([]T, 0, b.Batch), item)
	if cap(b.in) == 1 {
		return batch // there is no other
	}
	timer := time.NewTimer(linger)
	defer timer.Stop()
	for len(batch) < b.Batch {
		select {
		case next, ok := <-b.in:
			if !ok {
				return batch
			}
			batch = append(batch, next)
		case <-timer.C:
			return batch
		}
	}
	return batch
}

func (b *Batcher[T]) settle(ctx context.Context, batch []T) {
	for len(batch) > 0 && ctx.Err() == nil {
		call, cancel := context.WithTimeout(ctx, b.Timeout)
		again, err := b.Do(call, batch)
		cancel()
		switch {
		case len(again) > 0 && ctx.Err() == nil:
			b.Trouble.Began(err)
			sleep.For(ctx, b.Trouble.Pause())
		case err == nil:
			b.Trouble.Over()
		}
		batch = again
	}
}
