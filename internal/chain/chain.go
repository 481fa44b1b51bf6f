package chain

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrOrder matches the error of entering a stage that may not stand there.
var ErrOrder = errors.New("middlewares in the wrong order")

// Stage is a middleware's place.
type Stage int

// The stages, outermost first.
const (
	DeadLetters Stage = iota + 1
	Retry
	Inbox
	// Attached is an attempt of consumer.Attach, which does what the others do.
	Attached
)

// String names the middleware.
func (s Stage) String() string {
	switch s {
	case DeadLetters:
		return "dlq.Middleware"
	case Retry:
		return "retry.Middleware"
	case Inbox:
		return "inbox.Middleware"
	case Attached:
		return "consumer.Attach"
	}
	return "unknown"
}

type key struct{}

// entered is what a context carries: the innermost stage, and whose it is.
type entered struct {
	handler string
	stage   Stage
}

// Enter returns a context in which handler is in s, and whether s is the outermost
// stage of it. The error matches ErrOrder and says what the right order is.
func Enter(ctx context.Context, handler string, s Stage) (inside context.Context, outermost bool, err error) {
	before, ok := ctx.Value(key{}).(entered)
	outermost = !ok || before.handler != handler
	switch {
	case !outermost && before.stage == Attached:
		err = fmt.Errorf("%w: remove %s from around the handler: %s does its work", ErrOrder, s, Attached)
	case !outermost && before.stage == s:
		err = fmt.Errorf("%w: %s is there twice; once for each handler is right", ErrOrder, s)
	case !outermost && before.stage > s:
		err = fmt.Errorf("%w: %s stands inside %s; the right order, outermost (added first) to innermost: %s, %s, %s, the handler",
			ErrOrder, s, before.stage, DeadLetters, Retry, Inbox)
	}
	if err != nil {
		return ctx, false, err
	}
	return context.WithValue(ctx, key{}, entered{handler, s}), outermost, nil
}

// Pause blocks for d, or until ctx ends.
func Pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
