package crashguard

import (
	"context"
	"sync"
	"time"
)

// Process decides what may run concurrently in one process. Batches run concurrently; a
// suspect runs alone. All consumers of a process share one Process; tests that simulate
// several processes make one for each. Its methods may be called concurrently.
type Process struct {
	mu      sync.Mutex
	changed chan struct{} // closed with the next change; nil if nothing waits for it
	running int           // batches
	alone   bool          // a suspect runs
	waiting int           // suspects that want to run: no batch begins meanwhile

	leases int
	sole   bool // the one granted lease is to be the only one
	// promised names the handler that is next when no lease is granted, and until when:
	// it may never ask again.
	promised string
	until    time.Time

	consumers []*running // see Begin
}

// ThisProcess is the Process of this process.
var ThisProcess = NewProcess()

const (
	// promise is how long other handlers get no lease after one asked for the only lease;
	// each request renews it.
	promise = 5 * time.Second
	// leaseTimeout is how long a suspect waits for granted leases to end.
	leaseTimeout = 10 * time.Second
)

// NewProcess returns a process without running work.
func NewProcess() *Process { return new(Process) }

// join waits until no suspect runs, or waits to run. leave ends it.
func (p *Process) join(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.alone || p.waiting > 0 {
		if _, err := p.wait(ctx, nil); err != nil {
			return err
		}
	}
	p.running++
	return nil
}

func (p *Process) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running--
	p.change()
}

// isolate waits until no other work runs, for leases at most leaseTimeout, and reports
// whether none runs. end ends it.
func (p *Process) isolate(ctx context.Context) (only bool, err error) {
	timeout := time.NewTimer(leaseTimeout)
	defer timeout.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting++
	defer func() { p.waiting-- }()
	for late := false; p.alone || p.running > 0 || p.leases > 0 && !late; {
		now, err := p.wait(ctx, timeout.C)
		if err != nil {
			p.change() // wake those who waited because of this suspect
			return false, err
		}
		late = late || now
	}
	p.alone = true
	return p.leases == 0, nil
}

// end ends isolate. After open, the suspect counts as a running batch.
func (p *Process) end(opened bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if opened {
		p.running--
	} else {
		p.alone = false
	}
	p.change()
}

// open lets other work run concurrently with the suspect.
func (p *Process) open() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.alone = false
	p.running++
	p.change()
}

// wait returns when the state has changed or late fires, which it reports, or with the
// cause of ctx's end. p.mu is held before and after.
func (p *Process) wait(ctx context.Context, late <-chan time.Time) (bool, error) {
	if p.changed == nil {
		p.changed = make(chan struct{})
	}
	changed := p.changed
	p.mu.Unlock()
	defer p.mu.Lock()
	select {
	case <-changed:
		return false, nil
	case <-late:
		return true, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

func (p *Process) change() {
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}

// Lease grants up to n leases to the leased handler called who, and returns how many.
// They count as granted until GiveBack. It does not wait: it returns 0 while a suspect
// runs or waits to run, and while another handler is next for the only lease.
func (p *Process) Lease(who string, n int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.alone, p.waiting > 0, p.sole:
		n = 0
	case p.quiet() && p.promised == who:
		if p.leases > 0 {
			p.promise(who)
			return 0
		}
		p.promised, n = "", min(n, 1)
	case p.quiet():
		n = 0
	}
	p.leases += n
	return n
}

// OnlyLease asks that one of the n leases that Lease has just granted is the only one,
// because its message has lost others; the caller gives the rest of n back. It reports
// false if other leases are granted. Then no lease is granted until those have ended and
// the handler called who has asked again.
func (p *Process) OnlyLease(who string, n int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.leases > n {
		p.promise(who)
		return false
	}
	p.sole = true
	return true
}

// GiveBack ends n granted leases.
func (p *Process) GiveBack(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leases -= n
	p.sole = p.sole && p.leases > 0
	p.change()
}

// quiet reports whether a promise is in force.
func (p *Process) quiet() bool { return p.promised != "" && time.Now().Before(p.until) }

// promise makes who the next, unless another handler is.
func (p *Process) promise(who string) {
	if !p.quiet() || p.promised == who {
		p.promised, p.until = who, time.Now().Add(promise)
	}
}
