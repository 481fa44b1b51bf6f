package attempt

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
)

// Panic is a panic that was caught.
type Panic struct {
	Value any
	Stack []byte
}

// Catch runs f and returns its error, or the panic that it ended with. Where f calls
// runtime.Goexit, Catch does not return.
func Catch(f func() error) (p *Panic, err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			p = &Panic{Value: v, Stack: debug.Stack()}
		}
	}()
	err = f()
	returned = true
	return nil, err
}

// Probe gives err to look, and returns the panic of err's methods, as those of a nil
// pointer in an error panic: whoever decides on err calls them where nobody recovers.
func Probe(err error, look func(error)) *Panic {
	if err == nil {
		return nil
	}
	p, _ := Catch(func() error { look(err); return nil })
	return p
}

// Ended says of an error that came after the end of the attempt's context how that
// ended: drivers report it as a cancelled statement or a lost connection.
func Ended(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || errors.Is(err, ctx.Err()) {
		return err
	}
	return fmt.Errorf("%w: %w", ctx.Err(), err)
}
