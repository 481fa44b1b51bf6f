package alerting

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/alerts"
)

const (
	// queueLength is how many alerts wait for a slow hook before some are dropped.
	queueLength = 64
	// hookTime is how long a hook may take for one alert.
	hookTime = 10 * time.Second
)

// ErrHookStuck matches the error of a Close that gave up on a hook.
var ErrHookStuck = errors.New("the alert hook does not return")

// Dispatcher calls a hook from a goroutine of its own. It is safe for concurrent
// use.
type Dispatcher struct {
	hook   alerts.Hook
	logger *slog.Logger

	mu     sync.Mutex // guards closed, and Send against the close of queue
	closed bool
	queue  chan alerts.Alert

	dropped atomic.Int64
	told    int64 // of dropped, by the goroutine
	cancel  context.CancelFunc
	done    chan struct{}
}

// NewDispatcher starts a dispatcher for hook. A nil hook drops every alert without
// counting it; a nil logger means slog.Default. The caller closes it.
func NewDispatcher(hook alerts.Hook, logger *slog.Logger) *Dispatcher {
	if logger == nil {
		logger = slog.Default()
	}
	d := &Dispatcher{hook: hook, logger: logger, cancel: func() {}, done: make(chan struct{})}
	if hook == nil {
		d.closed = true
		close(d.done)
		return d
	}
	var ctx context.Context
	ctx, d.cancel = context.WithCancel(context.Background())
	d.queue = make(chan alerts.Alert, queueLength)
	go d.run(ctx)
	return d
}

// Send queues a for the hook, and returns at once: where the queue is full or the
// dispatcher closed, a is dropped and counted. A zero a.At becomes now.
func (d *Dispatcher) Send(a alerts.Alert) {
	if d.hook == nil {
		return
	}
	if a.At.IsZero() {
		a.At = time.Now()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		d.dropped.Add(1)
		return
	}
	select {
	case d.queue <- a:
	default:
		d.dropped.Add(1)
	}
}

// Dropped returns how many alerts were dropped.
func (d *Dispatcher) Dropped() int64 { return d.dropped.Load() }

// Close takes no more alerts, passes the queued ones on, and returns when the
// goroutine has ended. When ctx ends first, the hook's context is cancelled and the
// rest of the queue dropped; if the hook does not return shortly after that, the
// error matches ErrHookStuck and the goroutine is left to it. Further calls wait in
// the same way.
func (d *Dispatcher) Close(ctx context.Context) error {
	d.mu.Lock()
	if !d.closed {
		d.closed = true
		close(d.queue)
	}
	d.mu.Unlock()
	defer d.cancel()
	select {
	case <-d.done:
		return nil
	case <-ctx.Done():
	}
	d.cancel()
	grace := time.NewTimer(graceTime)
	defer grace.Stop()
	select {
	case <-d.done:
		return nil
	case <-grace.C:
		return fmt.Errorf("close alerts: %w: %w", ErrHookStuck, context.Cause(ctx))
	}
}

// graceTime is what a hook has to return in after its context was cancelled.
const graceTime = 100 * time.Millisecond

// run is the goroutine. Drops are logged here and not in Send, since a log sink may
// block as well.
func (d *Dispatcher) run(ctx context.Context) {
	defer close(d.done)
	for a := range d.queue {
		if ctx.Err() != nil {
			d.dropped.Add(1)
			continue
		}
		d.call(ctx, a)
		d.tell()
	}
	d.tell()
}

// call gives a to the hook and survives its panic.
func (d *Dispatcher) call(ctx context.Context, a alerts.Alert) {
	ctx, cancel := context.WithTimeout(ctx, hookTime)
	defer cancel()
	returned := false
	defer func() {
		if value := recover(); !returned {
			// The type only: a panic's value may hold anything.
			d.logger.Error("alert hook panicked", "kind", string(a.Kind), "panic", fmt.Sprintf("%T", value))
		}
	}()
	d.hook(ctx, a)
	returned = true
}

// tell logs how many alerts were dropped since it last did.
func (d *Dispatcher) tell() {
	if n := d.dropped.Load(); n > d.told {
		d.logger.Warn("alerts dropped: the hook is too slow, or closing", "count", n-d.told)
		d.told = n
	}
}
