package alerting

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/outbox"
)

// Dispatcher sends the alerts of this process, from a goroutine of its own. It is
// safe for concurrent use.
type Dispatcher struct {
	caller *Caller
	signal *outbox.Signal

	mu     sync.Mutex // guards the book and closed
	book   *book
	closed bool
	told   int64 // of the dropped ones, by the goroutine

	life   context.Context // of the calls
	cancel context.CancelFunc
	close  chan struct{}
	done   chan struct{}
}

// NewDispatcher starts a dispatcher. The caller closes it.
func NewDispatcher(c *Caller, o alerts.Options) *Dispatcher {
	d := &Dispatcher{
		caller: c, signal: outbox.NewSignal(), book: newBook(o),
		close: make(chan struct{}), done: make(chan struct{}),
	}
	d.life, d.cancel = context.WithCancel(context.Background())
	go d.run()
	return d
}

// Send counts a in and returns at once. The first of its group is sent soon, others
// when it is due. A zero a.At becomes now. Alerts of too many groups, and those sent
// to a closed dispatcher, are dropped and counted.
func (d *Dispatcher) Send(a alerts.Alert) {
	d.mu.Lock()
	if a.At.IsZero() {
		a.At = time.Now() // under the lock: the newest is the last one
	}
	if d.closed {
		d.book.dropped++
	} else {
		d.book.add(a)
	}
	d.mu.Unlock()
	d.signal.Wake()
}

// Dropped returns how many alerts were dropped.
func (d *Dispatcher) Dropped() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.book.dropped
}

// Close takes no more alerts, tries once to pass on all that wait, and returns when
// the goroutine has ended. When ctx ends first, the hook's context is cancelled and
// the others are dropped; if the hook does not return shortly after that, the error
// matches ErrHookStuck and its call is left behind. Further calls wait in the same
// way.
func (d *Dispatcher) Close(ctx context.Context) error {
	d.mu.Lock()
	if !d.closed {
		d.closed = true
		close(d.close)
	}
	d.mu.Unlock()
	stop := context.AfterFunc(ctx, d.cancel)
	defer stop()
	<-d.done // soon after ctx has ended: no call outlasts its context by more than graceTime
	d.cancel()
	return d.caller.Wait(ctx)
}

// run is the goroutine. Drops are logged here and not in Send, since a log sink may
// block as well.
func (d *Dispatcher) run() {
	defer close(d.done)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for open := true; open; {
		select {
		case <-d.signal.C():
		case <-timer.C:
		case <-d.close:
			open = false
		}
		next, ok := d.flush(!open)
		if !ok {
			next = time.Hour
		}
		timer.Reset(next)
	}
}

// flush sends what is due, and returns how long until something is.
func (d *Dispatcher) flush(all bool) (next time.Duration, ok bool) {
	d.mu.Lock()
	list := d.book.take(time.Now(), all)
	d.mu.Unlock()
	for _, a := range list {
		d.send(a, all)
	}
	d.mu.Lock()
	now := time.Now()
	at, ok := d.book.next(now)
	dropped := d.book.dropped
	d.mu.Unlock()
	d.tell(dropped)
	return at.Sub(now), ok
}

// send calls the hook, unless a is not true any more. What it fails for is tried again,
// unless it is the last try.
func (d *Dispatcher) send(a alerts.Alert, last bool) {
	d.mu.Lock()
	recalled := d.book.recall(a)
	d.mu.Unlock()
	if recalled {
		return
	}
	said := a
	if a.Groups > 1 {
		said.Text = fmt.Sprintf("%s (and the like elsewhere: %d in all)", a.Text, a.Groups)
	}
	err := d.caller.Call(d.life, said)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil {
		d.book.passed(a)
		return
	}
	if last || !d.book.failed(a, time.Now(), err) {
		d.book.dropped += max(a.Count, 1)
	}
}

// tell logs how many alerts were dropped since it last did.
func (d *Dispatcher) tell(dropped int64) {
	if dropped > d.told {
		d.caller.logger.Warn("alerts dropped: the hook fails, there are too many groups, or the consumer ends", "count", dropped-d.told)
		d.told = dropped
	}
}
