package alerting

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/headrace/headrace/alerts"
)

// Dispatcher sends the alerts of this process, in its own goroutine. It is safe for
// concurrent use.
type Dispatcher struct {
	*worker

	mu        sync.Mutex // guards the debouncer and closed
	debouncer *debouncer
	closed    bool
	told      int64 // how many dropped ones were logged; used by the goroutine only
}

// NewDispatcher starts a dispatcher. The caller closes it.
func NewDispatcher(c *Caller, o alerts.Options) *Dispatcher {
	d := &Dispatcher{worker: newWorker(c), debouncer: newDebouncer(o)}
	go d.run()
	return d
}

// Send adds a to its group and returns at once. The first alert of a group is sent soon,
// others when the group is due. A zero a.At becomes now. Alerts of too many groups, and
// those sent to a closed dispatcher, are dropped and counted.
func (d *Dispatcher) Send(a alerts.Alert) {
	d.mu.Lock()
	if a.At.IsZero() {
		a.At = time.Now() // under the lock, so that the newest is the last one
	}
	if d.closed {
		d.debouncer.dropped++
	} else {
		d.debouncer.add(a)
	}
	d.mu.Unlock()
	d.signal.Wake()
}

// Dropped returns how many alerts were dropped.
func (d *Dispatcher) Dropped() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.debouncer.dropped
}

// Close accepts no more alerts: see worker.Close.
func (d *Dispatcher) Close(ctx context.Context) error {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	return d.worker.Close(ctx)
}

// run is the goroutine. It logs dropped alerts, not Send, since a log sink may block as
// well.
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
		timer.Reset(d.flush(!open))
	}
}

// flush sends the alerts that are due, and returns how long until the next is.
func (d *Dispatcher) flush(all bool) time.Duration {
	d.mu.Lock()
	list := d.debouncer.take(time.Now(), all)
	d.mu.Unlock()
	for _, a := range list {
		d.send(a, all)
	}
	d.mu.Lock()
	next, dropped := d.debouncer.next(time.Now()), d.debouncer.dropped
	d.mu.Unlock()
	if dropped > d.told {
		d.caller.logger.Warn("alerts dropped: the hook fails, there are too many groups, or the consumer ends", "count", dropped-d.told)
		d.told = dropped
	}
	return next
}

// send calls the hook, unless a newer alert says the opposite of a. A failed alert is
// retried, unless last is set.
func (d *Dispatcher) send(a alerts.Alert, last bool) {
	d.mu.Lock()
	outdated := d.debouncer.outdated(a)
	d.mu.Unlock()
	if outdated {
		return
	}
	said := a
	if a.Groups > 1 {
		said.Text = fmt.Sprintf("%s (one of %d such alerts)", a.Text, a.Groups)
	}
	err := d.caller.Call(d.life, said)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil {
		d.debouncer.passed(a)
		return
	}
	if last || !d.debouncer.failed(a, time.Now(), err) {
		d.debouncer.dropped += max(a.Count, 1)
	}
}
