package alerting

import (
	"cmp"
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
	// graceTime is how long a hook may take to return after its context was cancelled.
	graceTime = 100 * time.Millisecond
)

// ErrHookStuck matches the error of a hook that did not return, and of the calls that
// were skipped because of it.
var ErrHookStuck = errors.New("the alert hook does not return")

// errPanicked is the error of a hook that panicked or ended its goroutine.
var errPanicked = errors.New("the alert hook panicked")

// Caller calls a hook, one call at a time. If a call does not return in time, the Caller
// abandons it and makes no other call until it returns. It is safe for concurrent use.
type Caller struct {
	// Called is told whether each call of the hook, with an alert of a kind, succeeded; may be nil. It is set before
	// the first call.
	Called func(kind alerts.Kind, ok bool)
	// Every is that of a sink that is alerts.Repeated; 0 of another.
	Every time.Duration
	// Wants reports whether the sink sends an alert: of another one its success says nothing. Nil is for all.
	Wants func(a alerts.Alert) bool

	hook   alerts.Hook
	logger *slog.Logger
	slot   chan struct{} // holds a token while a call is under way
	stuck  atomic.Bool
}

// NewCaller returns a caller of hook. A nil logger means slog.Default.
func NewCaller(hook alerts.Hook, logger *slog.Logger) *Caller {
	return &Caller{hook: hook, logger: cmp.Or(logger, slog.Default()), slot: make(chan struct{}, 1)}
}

// Call calls the hook with a, and returns its error. It blocks until the hook has
// returned, ctx has ended, or the hook's time is over. A failure is logged.
func (c *Caller) Call(ctx context.Context, a alerts.Alert) error {
	err := c.call(ctx, a)
	if c.Called != nil && !errors.Is(err, errNotBegun) {
		c.Called(a.Kind, err == nil)
	}
	if err != nil && !errors.Is(err, errNotBegun) {
		c.logger.Warn("an alert was not sent", "kind", string(a.Kind), "about", a.Consumer, "error", Reason(err))
	}
	return err
}

// errNotBegun is the error of a call that was not made because ctx had ended.
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
		err := errPanicked // also if it ends the goroutine
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

// run calls the hook and recovers from its panic.
func (c *Caller) run(ctx context.Context, a alerts.Alert) (err error) {
	returned := false
	defer func() {
		if value := recover(); !returned {
			// Only the type: a panic's value may contain anything.
			err = fmt.Errorf("%w: %T", errPanicked, value)
		}
	}()
	err = c.hook(ctx, a)
	_, _ = Reason(err), delay(1, err) // call err's methods here, where a panic is recovered
	returned = true
	return err
}

// Wait returns when no call is under way, or when ctx ends: then the error matches
// ErrHookStuck.
func (c *Caller) Wait(ctx context.Context) error {
	select {
	case c.slot <- struct{}{}:
		<-c.slot
	case <-ctx.Done():
		if len(c.slot) > 0 {
			return fmt.Errorf("close alerts: %w: %w", ErrHookStuck, context.Cause(ctx))
		}
	}
	return nil
}

// Reason returns the part of a Caller's error that may be logged: texts of others may
// contain anything.
func Reason(err error) string {
	var ours *alerts.SendError
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

// The delay before a retry doubles from the first to the last.
const (
	firstRetry = 15 * time.Second
	lastRetry  = 5 * time.Minute
	// mostAfter is the longest delay that a receiver can ask for.
	mostAfter = 15 * time.Minute
)

// delay is the wait after that many failures, the last of which was err.
func delay(failures int, err error) time.Duration {
	d := min(firstRetry<<min(max(failures-1, 0), 5), lastRetry)
	if said, ok := errors.AsType[*alerts.SendError](err); ok {
		d = max(d, min(said.RetryAfter, mostAfter))
	}
	return d
}

// Delay is the wait after that many failures, the last of which was err.
func Delay(failures int, err error) time.Duration { return delay(failures, err) }
