package intent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/inbox"
)

// ErrTooManyWaiters matches the error of an Await beyond Options.MaxWaiters.
var ErrTooManyWaiters = errors.New("too many callers wait for intents")

const (
	// firstLook and lastLook are the least and the longest time between two looks for a
	// waiter.
	firstLook = 5 * time.Millisecond
	lastLook  = time.Second
	// lookTime bounds the query.
	lookTime = 5 * time.Second
)

// waiter is a call of Await.
type waiter struct {
	next  time.Time // of its next look
	pause time.Duration
	done  chan error // gets one value: nil if the message does not wait any more
}

// Await waits until the intent with this key is done, dead or discarded, and returns it as
// Get does. It holds no connection. If its handler runs in a consumer on the same store, in
// this process, Await returns at once, and otherwise within a second, sooner while the wait
// is short.
//
// When ctx ends the error matches that of ctx, and what was known at the beginning comes
// with it. It matches ErrUnknown for an unknown key, ErrTooManyWaiters beyond
// Options.MaxWaiters, and ErrClosed after Close. The database's errors are returned: the
// call may be repeated.
func (k Kind[T]) Await(ctx context.Context, c *Client, key string) (Intent, error) {
	if err := c.open(); err != nil {
		return Intent{}, err
	}
	id := inbox.ID{Scope: k.Scope(), Key: key}
	for {
		got, err := c.get(ctx, id)
		if err != nil || got.Ended() {
			return got, err
		}
		if err := c.wait(ctx, id); err != nil {
			return got, err
		}
	}
}

// wait returns nil when the message does not wait any more.
func (c *Client) wait(ctx context.Context, id inbox.ID) error {
	w := &waiter{next: time.Now().Add(firstLook), pause: firstLook, done: make(chan error, 1)}
	if err := c.add(id, w); err != nil {
		return err
	}
	defer c.remove(id, w)
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("wait for an intent: %w", context.Cause(ctx))
	case <-c.closing.Done():
		return ErrClosed
	}
}

// add adds a waiter, and starts the goroutine that asks for it.
func (c *Client) add(id inbox.ID, w *waiter) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closing.Err() != nil:
		return ErrClosed
	case int(c.waiting.Load()) >= c.o.MaxWaiters:
		return fmt.Errorf("%w: %d are allowed", ErrTooManyWaiters, c.o.MaxWaiters)
	}
	c.waiting.Add(1)
	c.waiters[id] = append(c.waiters[id], w)
	if !c.asking {
		c.asking = true
		c.running.Go(c.ask)
		return nil
	}
	c.wakeUp()
	return nil
}

// remove removes a waiter.
func (c *Client) remove(id inbox.ID, w *waiter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.waiters[id]
	for i := range list {
		if list[i] == w {
			list = append(list[:i:i], list[i+1:]...)
			break
		}
	}
	if c.waiters[id] = list; len(list) == 0 {
		delete(c.waiters, id)
	}
	if c.waiting.Add(-1) == 0 {
		c.wakeUp() // ends the goroutine
	}
}

// wakeUp has the goroutine look for waiters that are due. It never blocks.
func (c *Client) wakeUp() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// ended is told by consumers of this process that a run of a message had an outcome.
func (c *Client) ended(id inbox.ID) {
	if c.waiting.Load() == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.waiters[id]
	for _, w := range list {
		w.next, w.pause = time.Time{}, firstLook
	}
	if len(list) > 0 {
		c.wakeUp()
	}
}

// ask looks for the messages of all waiters that are due, in one query, until there are no
// waiters.
func (c *Client) ask() {
	timer := time.NewTimer(firstLook)
	defer timer.Stop()
	for {
		due, next, ended := c.due(time.Now())
		if ended {
			return
		}
		if len(due) > 0 {
			c.look(due)
			next = firstLook // so many queries at most
		}
		timer.Reset(next)
		wake := c.wake
		if len(due) > 0 {
			wake = nil
		}
		select {
		case <-timer.C:
		case <-wake:
		case <-c.closing.Done():
		}
	}
}

// due returns the messages whose waiters are due, and how long until the next one is. With
// one that is due come those that will be within half of their pause, so that the waiters
// come to share their queries. Without waiters, or after Close, ended is true, and the
// goroutine may end.
func (c *Client) due(now time.Time) (ids []inbox.ID, next time.Duration, ended bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiters) == 0 || c.closing.Err() != nil {
		c.asking = false
		return nil, 0, true
	}
	next = lastLook
	for id, list := range c.waiters {
		soon := false
		for _, w := range list {
			rest := w.next.Sub(now)
			soon, next = soon || rest <= w.pause/2, min(next, rest)
		}
		if soon {
			ids = append(ids, id)
		}
	}
	if next > 0 {
		return nil, next, false
	}
	return ids, 0, false
}

// look asks for messages, and wakes the waiters of those that do not wait any more, or all
// of them after an error.
func (c *Client) look(ids []inbox.ID) {
	ctx, cancel := context.WithTimeout(c.closing, lookTime)
	defer cancel()
	entries, err := c.st.Operations().Answers.Find(ctx, ids)
	if err != nil {
		err = fmt.Errorf("wait for intents: %w", err)
	}
	waiting := make(map[inbox.ID]bool, len(entries))
	for _, e := range entries {
		waiting[e.ID] = e.State == inbox.Waiting
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for _, id := range ids {
		for _, w := range c.waiters[id] {
			if err == nil && waiting[id] {
				w.pause = min(2*w.pause, lastLook)
				w.next = now.Add(w.pause)
				continue
			}
			select {
			case w.done <- err:
			default: // it was told already, and is about to leave
			}
			w.next = now.Add(lastLook)
		}
	}
}
