package attempt

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
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

// Probe calls look with err, and returns the panic of err's methods, which panic for
// example on a nil pointer in an error. Other code calls these methods without a recover.
func Probe(err error, look func(error)) *Panic {
	if err == nil {
		return nil
	}
	p, _ := Catch(func() error { look(err); return nil })
	return p
}

// Ended adds the error of ctx to err if ctx, the attempt's context, has ended: drivers
// report that as a cancelled statement or a lost connection.
func Ended(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || errors.Is(err, ctx.Err()) {
		return err
	}
	return fmt.Errorf("%w: %w", ctx.Err(), err)
}
