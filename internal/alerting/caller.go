package alerting

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/alerts"
)

const (
	// hookTime is how long a hook may take for one alert.
	hookTime = 10 * time.Second
	// graceTime is what a hook has to return in after its context was cancelled.
	graceTime = 100 * time.Millisecond
)

// ErrHookStuck matches the error of a hook that did not return, and of the calls
// that were not made because of it.
var ErrHookStuck = errors.New("the alert hook does not return")

// errPanicked is the error of a hook that panicked or ended its goroutine.
var errPanicked = errors.New("the alert hook panicked")

// Caller calls a hook, one call at a time. A call that does not return is left
// behind, and no other is made until it has. It is safe for concurrent use.
type Caller struct {
	hook   alerts.Hook
	logger *slog.Logger
	slot   chan struct{} // holds a token while a call is under way
	stuck  atomic.Bool
}

// NewCaller returns a caller of hook. nil means slog.Default.
func NewCaller(hook alerts.Hook, logger *slog.Logger) *Caller {
	if logger == nil {
		logger = slog.Default()
	}
	return &Caller{hook: hook, logger: logger, slot: make(chan struct{}, 1)}
}

// Call gives a to the hook, and returns its error. It blocks until the hook has
// returned, ctx has ended, or the hook has had its time. A failure is logged.
func (c *Caller) Call(ctx context.Context, a alerts.Alert) error {
	err := c.call(ctx, a)
	if err != nil && !errors.Is(err, errNotBegun) {
		c.logger.Warn("an alert was not passed on", "kind", string(a.Kind), "consumer", a.Consumer, "error", reason(err))
	}
	return err
}

// errNotBegun is the error of a call that ctx kept from being made.
var errNotBegun = errors.New("the alert hook was not called")

func (c *Caller) call(ctx context.Context, a alerts.Alert) error {
	if c.stuck.Load() {
		return ErrHookStuck
	}
	select {
	case c.slot <- struct{}{}:
	case <-ctx.Done():
		return errNotBegun
	}
	if ctx.Err() != nil {
		<-c.slot
		return errNotBegun
	}
	ctx, cancel := context.WithTimeout(ctx, hookTime)
	defer cancel()
	result := make(chan error, 1)
	go func() { // Wait waits for it
		err := errPanicked // or it ends the goroutine
		defer func() {
			result <- err
			<-c.slot
			c.stuck.Store(false)
		}()
		err = c.run(ctx, a)
	}()
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
	}
	grace := time.NewTimer(graceTime)
	defer grace.Stop()
	select {
	case err := <-result:
		return err
	case <-grace.C:
	}
	c.stuck.Store(true)
	if len(c.slot) == 0 { // it has returned after all
		c.stuck.Store(false)
	}
	return ErrHookStuck
}

// run calls the hook and survives its panic.
func (c *Caller) run(ctx context.Context, a alerts.Alert) (err error) {
	returned := false
	defer func() {
		if value := recover(); !returned {
			// The type only: a panic's value may hold anything.
			err = fmt.Errorf("%w: %T", errPanicked, value)
		}
	}()
	err = c.hook(ctx, a)
	_, _ = reason(err), delay(1, err) // call its methods here, where its panic is survived
	returned = true
	return err
}

// Wait returns when no call is under way, or when ctx ends: then the error matches
// ErrHookStuck.
func (c *Caller) Wait(ctx context.Context) error {
	select {
	case c.slot <- struct{}{}:
		<-c.slot
		return nil
	default:
	}
	select {
	case c.slot <- struct{}{}:
		<-c.slot
		return nil
	case <-ctx.Done():
		return fmt.Errorf("close alerts: %w: %w", ErrHookStuck, context.Cause(ctx))
	}
}

// reason is what may be logged of err: the words of others may hold anything.
func reason(err error) string {
	var ours *alerts.HookError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &ours):
		return ours.Reason
	case errors.Is(err, ErrHookStuck), errors.Is(err, errPanicked):
		return err.Error()
	}
	return fmt.Sprintf("%T", err)
}

// The delay before an alert is tried again doubles from the first to the last.
const (
	firstRetry = 15 * time.Second
	lastRetry  = 5 * time.Minute
	// mostAfter is the longest that a receiver can put off the next try.
	mostAfter = 15 * time.Minute
)

// delay is how long to wait after that many failures, the last of which was err.
func delay(failures int, err error) time.Duration {
	d := lastRetry
	if failures < 6 {
		d = min(firstRetry<<max(failures-1, 0), lastRetry)
	}
	var said *alerts.HookError
	if errors.As(err, &said) {
		d = max(d, min(said.RetryAfter, mostAfter))
	}
	return d
}
