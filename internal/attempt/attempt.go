package attempt

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"time"
)

// Panic is a panic that was caught. Code that has to go on first may panic with it again:
// Catch then returns the first one.
type Panic struct {
	Value any
	Stack []byte
}

// Catch runs f and returns its error, or its panic. If f calls runtime.Goexit, Catch does
// not return.
func Catch(f func() error) (p *Panic, err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		v := recover()
		if p, _ = v.(*Panic); p == nil && v != nil {
			p = &Panic{Value: v, Stack: debug.Stack()}
		}
	}()
	err = f()
	returned = true
	return nil, err
}

// Apart runs f as Catch does, in a coroutine: runtime.Goexit in f does not end this goroutine
// before end is called, which the caller does in any case, when it has put in order what f left.
func Apart(f func() error) (p *Panic, end func(), err error) {
	next, end := iter.Pull(func(yield func(bool) bool) {
		returned := false
		defer func() {
			if !returned {
				yield(false) // Goexit goes on in end
			}
		}()
		p, err = Catch(f)
		returned = true
	})
	next()
	return p, end, err
}

// Ended adds the error of ctx to err if ctx, the attempt's context, has ended: drivers
// report that as a cancelled statement or a lost connection.
func Ended(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || errors.Is(err, ctx.Err()) {
		return err
	}
	return fmt.Errorf("%w: %w", ctx.Err(), err)
}

// Late adds to err that ctx, a handler's context, has ended because the handler's time limit is over,
// and which options set the limit. Other errors stay as they are.
func Late(ctx context.Context, err error, limit time.Duration, options string) error {
	if err == nil || ctx.Err() != context.DeadlineExceeded {
		return err
	}
	return fmt.Errorf("the handler's time of %s (%s) is over: %w", limit, options, Ended(ctx, err))
}
