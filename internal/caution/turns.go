package caution

import (
	"context"
	"sync"
	"time"
)

// turns says who may run beside whom. One message runs alone, or others keep each other
// company. Leases in hand are no company, because they may last for long: nobody waits
// for their end, and nobody runs alone beside them.
type turns struct {
	mu      sync.Mutex
	changed chan struct{} // closed, and made anew, with each change that others wait for
	alone   bool          // somebody runs alone
	waiting int           // who want to: nobody joins the company meanwhile
	company int

	leases int
	sole   bool // the one lease in hand is to be the only one
	// promised names who is next when no lease is in hand, and until when that counts:
	// it may never ask again.
	promised string
	until    time.Time
}

// promise is how long nobody else is given a lease for the sake of who asked for quiet;
// each time it asks again, it is promised anew.
const promise = 5 * time.Second

func newTurns() *turns { return &turns{changed: make(chan struct{})} }

// goAlone waits until nobody else runs, and reports false at once while leases are in
// hand; then it is promised to who that there will be none. leave ends the turn.
func (t *turns) goAlone(ctx context.Context, who string) (bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting++
	defer func() { t.waiting-- }()
	for t.leases == 0 && (t.alone || t.company > 0) {
		if err := t.wait(ctx); err != nil {
			t.change() // those who did not join for our sake may
			return false, err
		}
	}
	if t.leases > 0 {
		t.promise(who)
		t.change()
		return false, nil
	}
	if t.promised == who {
		t.promised = ""
	}
	t.alone = true
	return true, nil
}

// join waits until nobody runs alone, or waits to.
func (t *turns) join(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.alone || t.waiting > 0 {
		if err := t.wait(ctx); err != nil {
			return err
		}
	}
	t.company++
	return nil
}

// tryAlone is goAlone where nothing else runs, and otherwise reports false.
func (t *turns) tryAlone() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.alone || t.company > 0 {
		return false
	}
	t.alone = true
	return true
}

// unlessAlone calls f, unless somebody runs alone; nobody begins to meanwhile.
func (t *turns) unlessAlone(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.alone {
		f()
	}
}

// wait returns when something has changed, or with the cause of the end of ctx. t.mu is
// held before and after.
func (t *turns) wait(ctx context.Context) error {
	changed := t.changed
	t.mu.Unlock()
	defer t.mu.Lock()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (t *turns) change() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// leave ends the turn of who runs alone, or of one of the company.
func (t *turns) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.alone {
		t.alone = false
	} else {
		t.company--
	}
	t.change()
}

// lease counts up to n leases of who as in hand, and returns how many it may have.
func (t *turns) lease(who string, n int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.alone, t.waiting > 0, t.sole:
		n = 0
	case t.quiet() && t.promised == who:
		if t.leases > 0 {
			t.promise(who)
			return 0
		}
		t.promised, n = "", min(n, 1)
	case t.quiet():
		n = 0
	}
	t.leases += n
	return n
}

// onlyLease reports whether the n leases of who are all that are in hand: there will be
// no others then. Otherwise it is promised to who.
func (t *turns) onlyLease(who string, n int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.leases > n {
		t.promise(who)
		return false
	}
	t.sole = true
	return true
}

// giveBack says that n leases are not in hand any more.
func (t *turns) giveBack(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leases -= n
	t.sole = t.sole && t.leases > 0
}

// quiet reports whether a promise counts.
func (t *turns) quiet() bool { return t.promised != "" && time.Now().Before(t.until) }

// promise promises to who that it is next, unless that is promised to another.
func (t *turns) promise(who string) {
	if !t.quiet() || t.promised == who {
		t.promised, t.until = who, time.Now().Add(promise)
	}
}
