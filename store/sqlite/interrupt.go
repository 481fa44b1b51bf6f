package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// errDiscarded is why a statement of a discarded transaction ended.
var errDiscarded = errors.New("the transaction was discarded")

// killable is a context that also ends when the connection is killed. The driver
// interrupts a statement when its context ends, and in no other way.
type killable struct {
	context.Context
	once sync.Once
	done chan struct{}
}

func (k *killable) end() { k.once.Do(func() { close(k.done) }) }

// Done implements context.Context.
func (k *killable) Done() <-chan struct{} { return k.done }

// Err implements context.Context.
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

// interruptible returns the context to run one statement of a transaction with,
// and what to call when it has returned.
func (c *conn) interruptible(ctx context.Context) (context.Context, func()) {
	if c.tx == nil {
		return ctx, func() {}
	}
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

// kill interrupts the statement that runs in the transaction, and every later one
// before it begins; COMMIT and ROLLBACK are left alone. It is for a connection
// that will be thrown away.
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
