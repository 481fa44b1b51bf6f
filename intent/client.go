package intent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store"
)

// ErrClosed matches the error of a Client after Close.
var ErrClosed = errors.New("the client of intents is closed")

// Options of a Client. The zero value works: a zero field has the default that its comment
// names.
type Options struct {
	// MaxWaiters is how many calls of Await, over Go and HTTP, wait at a time. Further ones
	// return ErrTooManyWaiters. Default 1,000.
	MaxWaiters int
	// MaxBody is the size of the largest body of a request to Handler, in bytes. Default 1 MiB.
	MaxBody int64
	// Window is for how long the consumer keeps a message that ended (inbox.Retention.Window),
	// for Intent.Until. Default: unknown, and Until is zero.
	Window time.Duration
	// Logger logs why requests to Handler are answered with 503 or 500, one line in 10 s.
	// Default: slog.Default.
	Logger *slog.Logger
}

// Client starts intents, and looks at them. Its methods, and the functions that take it, may
// be called concurrently. It holds a store, which it does not close, and the callers of
// Await: they have no connection while they wait. A goroutine asks for all of them while
// there are any.
type Client struct {
	st      store.Store
	o       Options
	closing context.Context
	close   context.CancelFunc
	unwatch func()
	running sync.WaitGroup // the goroutine that asks

	waiting atomic.Int64 // the number of waiters
	mu      sync.Mutex
	waiters map[inbox.ID][]*waiter
	logged  time.Time     // when the last failed request was
	asking  bool          // the goroutine runs
	wake    chan struct{} // a waiter is due earlier
}

// NewClient returns a client for the intents of one database. The error names an invalid
// option. Close it before the store.
func NewClient(st store.Store, o Options) (*Client, error) {
	if st == nil {
		return nil, errors.New("intent: the store is nil")
	}
	for _, n := range []struct {
		name  string
		value int64
	}{{"MaxWaiters", int64(o.MaxWaiters)}, {"MaxBody", o.MaxBody}, {"Window", int64(o.Window)}} {
		if n.value < 0 {
			return nil, fmt.Errorf("intent: option Options.%s is negative (%d): 0 gives the default", n.name, n.value)
		}
	}
	o.MaxWaiters, o.MaxBody, o.Logger = cmp.Or(o.MaxWaiters, 1000), cmp.Or(o.MaxBody, 1<<20), cmp.Or(o.Logger, slog.Default())
	c := &Client{st: st, o: o, waiters: make(map[inbox.ID][]*waiter), wake: make(chan struct{}, 1)}
	c.closing, c.close = context.WithCancel(context.Background())
	c.unwatch = st.Backlog().Signals.Watch(c.ended)
	return c, nil
}

// Close makes every call of Await return ErrClosed, and waits for the goroutine of the
// client. Later calls with this client return ErrClosed. It may be called again.
func (c *Client) Close() error {
	c.unwatch()
	c.mu.Lock()
	c.close()
	c.mu.Unlock()
	c.running.Wait()
	return nil
}

// open returns ErrClosed after Close.
func (c *Client) open() error {
	if c == nil {
		return errors.New("intent: the client is nil: see NewClient")
	}
	if c.closing.Err() != nil {
		return ErrClosed
	}
	return nil
}

// logEvery is the time between two lines about failed requests.
const logEvery = 10 * time.Second

// failed logs why a request failed, now and then.
func (c *Client) failed(scope, said string) {
	c.mu.Lock()
	now := time.Now()
	told := now.Sub(c.logged) < logEvery
	if !told {
		c.logged = now
	}
	c.mu.Unlock()
	if !told {
		c.o.Logger.Warn("a request for an intent failed; the caller was asked to repeat it", "scope", scope, "error", said)
	}
}
