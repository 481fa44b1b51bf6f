package crashguard

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// entered runs f, and returns what is closed when it has returned.
func entered(f func()) chan struct{} {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	return done
}

func is(done chan struct{}) bool {
	synctest.Wait()
	select {
	case <-done:
		return true
	default:
		return false
	}
}

func join(t *testing.T, i *Process) {
	t.Helper()
	if err := i.join(t.Context()); err != nil {
		t.Error(err)
	}
}

// Batches run beside each other; a suspect waits for them, and none begins while it waits
// or runs.
func TestIsolation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := NewProcess()
		join(t, i)
		join(t, i)
		suspect := entered(func() {
			if only, err := i.isolate(t.Context()); !only || err != nil {
				t.Errorf("%t, %v", only, err)
			}
		})
		if is(suspect) {
			t.Fatal("a suspect runs beside batches")
		}
		batch := entered(func() { join(t, i) })
		i.leave()
		if is(suspect) || is(batch) {
			t.Fatal("one batch is left")
		}
		i.leave()
		if !is(suspect) || is(batch) {
			t.Fatal("the suspect comes first")
		}
		second := entered(func() { _, _ = i.isolate(t.Context()) })
		if is(second) {
			t.Fatal("two suspects run")
		}
		i.end(false)
		if !is(second) || is(batch) {
			t.Fatal("a batch came before a suspect that waited")
		}
		i.end(false)
		if !is(batch) {
			t.Fatal("the batch waits, and nothing else runs")
		}
	})
}

// A suspect that runs for long lets others in, and ends as one of them.
func TestIsolationOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := NewProcess()
		_, _ = i.isolate(t.Context())
		batch := entered(func() { join(t, i) })
		second := entered(func() { _, _ = i.isolate(t.Context()) })
		synctest.Wait()
		i.open()
		if is(second) {
			t.Fatal("a second suspect runs beside the first")
		}
		if is(batch) {
			t.Fatal("no batch begins while a suspect waits")
		}
		i.end(true)
		if !is(second) {
			t.Fatal("the second does not run after the first")
		}
		i.end(false)
		if !is(batch) {
			t.Error("the batch does not run")
		}
		if i.leave(); i.running != 0 || i.alone || i.waiting != 0 {
			t.Errorf("left: %+v", i)
		}
	})
}

// A suspect that stops waiting holds up nothing.
func TestIsolationGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := NewProcess()
		join(t, i)
		stop := errors.New("stop")
		ctx, cancel := context.WithCancelCause(t.Context())
		suspect := entered(func() {
			if _, err := i.isolate(ctx); !errors.Is(err, stop) {
				t.Error(err)
			}
		})
		synctest.Wait()
		batch := entered(func() { join(t, i) })
		if is(batch) {
			t.Fatal("it does not wait for the suspect")
		}
		cancel(stop)
		if !is(suspect) || !is(batch) {
			t.Fatal("the batch waits for a suspect that gave up")
		}
		other := NewProcess()
		other.alone = true
		waits := entered(func() {
			if err := other.join(ctx); !errors.Is(err, stop) {
				t.Error(err)
			}
		})
		if !is(waits) || other.running != 0 {
			t.Errorf("%d run", other.running)
		}
	})
}

// A suspect waits for leases in hand, but not for ever; then it is not the only work.
func TestIsolationWaitsForLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := NewProcess()
		if n := i.Lease("a", 3); n != 3 {
			t.Fatalf("%d leases of 3", n)
		}
		start := time.Now()
		only, err := i.isolate(t.Context())
		if took := time.Since(start); only || err != nil || took != leaseTimeout {
			t.Errorf("only %t, %v, after %s", only, err, took)
		}
		if n := i.Lease("a", 3); n != 0 {
			t.Errorf("%d leases while a suspect runs", n)
		}
		i.end(false)
		suspect := entered(func() {
			if only, _ := i.isolate(t.Context()); !only {
				t.Error("it is not the only work")
			}
		})
		if is(suspect) {
			t.Fatal("it does not wait")
		}
		if n := i.Lease("a", 3); n != 0 {
			t.Errorf("%d leases while a suspect waits", n)
		}
		i.GiveBack(2)
		if is(suspect) {
			t.Fatal("one lease is in hand")
		}
		if i.GiveBack(1); !is(suspect) {
			t.Error("no lease is in hand")
		}
		if i.end(false); i.Lease("a", 1) != 1 {
			t.Error("no lease after the suspect")
		}
	})
}

// Who asks for the only lease is next when none is in hand, for as long as the promise
// lasts; others get none meanwhile.
func TestOnlyLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := NewProcess()
		i.Lease("a", 2)
		if n := i.Lease("b", 1); n != 1 {
			t.Fatal(n)
		}
		if i.OnlyLease("b", 1) {
			t.Fatal("there are others")
		}
		i.GiveBack(1)
		for name, want := range map[string]int{"a": 0, "b": 0, "c": 0} {
			if n := i.Lease(name, 5); n != want {
				t.Errorf("%s has %d while two of a are in hand", name, n)
			}
		}
		i.GiveBack(2)
		if n := i.Lease("a", 5); n != 0 {
			t.Errorf("a has %d, and b was promised to be next", n)
		}
		if n := i.Lease("b", 5); n != 1 || !i.OnlyLease("b", 1) {
			t.Errorf("b has %d", n)
		}
		if n := i.Lease("a", 1) + i.Lease("b", 1); n != 0 {
			t.Errorf("%d beside the only one", n)
		}
		i.GiveBack(1)
		if n := i.Lease("a", 5); n != 5 || i.OnlyLease("a", 4) {
			t.Errorf("a has %d", n)
		}
		i.GiveBack(4) // of 5: a was promised to be next
		if n := i.Lease("c", 1); n != 0 {
			t.Errorf("c has %d within the promise", n)
		}
		i.OnlyLease("c", 0) // asks for what is promised to a
		i.GiveBack(1)
		if c, a := i.Lease("c", 1), i.Lease("a", 3); c != 0 || a != 1 {
			t.Errorf("c has %d, a %d", c, a)
		}
		i.OnlyLease("c", 0)
		i.GiveBack(1)
		time.Sleep(promise) // c never asks again
		if n := i.Lease("d", 1); n != 1 {
			t.Errorf("d has %d after the promise", n)
		}
	})
}

// A suspect runs alone in its own process only.
func TestProcessesAreIndependent(t *testing.T) {
	t.Parallel()
	one, other := NewProcess(), NewProcess()
	if only, err := one.isolate(t.Context()); !only || err != nil {
		t.Fatalf("alone: %t, %v", only, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := one.join(ended); err == nil {
		t.Error("a batch began beside the suspect")
	}
	if err := other.join(ended); err != nil {
		t.Errorf("the other process waits: %v", err)
	}
	if n := one.Lease("a", 1) + other.Lease("a", 1); n != 1 {
		t.Errorf("%d leases, want that of the other process", n)
	}
}
