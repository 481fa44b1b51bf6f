package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// errDiscarded is the error of a statement of a discarded transaction.
var errDiscarded = errors.New("the transaction was discarded")

// killable is a context that also ends when the connection is killed. The driver
// interrupts a statement only when its context ends.
type killable struct {
	context.Context
	once sync.Once
	done chan struct{}
}

func (k *killable) end() { k.once.Do(func() { close(k.done) }) }

func (k *killable) Done() <-chan struct{} { return k.done }

func (k *killable) Err() error {
	if err := k.Context.Err(); err != nil {
		return err
	}
	select {
	case <-k.done:
		return errDiscarded
	default:
		return nil
	}
}

// interruptible returns the context for one statement of a transaction, and a function to
// call after it has returned.
func (c *conn) interruptible(ctx context.Context) (context.Context, func()) {
	k := &killable{Context: ctx, done: make(chan struct{})}
	stop := context.AfterFunc(ctx, k.end)
	c.mu.Lock()
	c.running = k
	if c.dead {
		k.end()
	}
	c.mu.Unlock()
	return k, func() {
		stop()
		c.mu.Lock()
		c.running = nil
		c.mu.Unlock()
	}
}

// kill interrupts the statement that runs in the transaction, and every later one before
// it begins, but not COMMIT and ROLLBACK. It is for a connection that will be thrown
// away.
func (c *conn) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead = true
	if c.running != nil {
		c.running.end()
	}
}

// killOf returns the kill of a connection of the pool, for txn.Options.
func killOf(pooled *sql.Conn) func() {
	kill := func() {}
	_ = pooled.Raw(func(dc any) error {
		if c, ok := dc.(*conn); ok {
			kill = c.kill
		}
		return nil
	})
	return kill
}
