package systems_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/headrace/headrace/internal/systems"
	"github.com/headrace/headrace/ledger"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// No more visits than Concurrent are under way, also where a function of one goes on after
// its step has ended. Other systems have no limit.
func TestConcurrent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := systems.New(map[string]ledger.Limit{"erp": {Concurrent: 2}}, nil)
		enter := func(system string) (*systems.Visit, error) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			return s.Enter(ctx, system)
		}
		first, err := enter("erp")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := enter("erp"); err != nil {
			t.Fatal(err)
		}
		first.Keep()
		first.Leave()
		if _, err := enter("erp"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a third visit: %v", err)
		}
		if _, err := enter("bank"); err != nil {
			t.Error(err)
		}
		first.Leave()
		if _, err := enter("erp"); err != nil {
			t.Error("the place of a visit that ended is not free: ", err)
		}
	})
}

// Calls begin at PerSecond, after a Burst. One that would begin too late says so at once.
func TestPerSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := systems.New(map[string]ledger.Limit{"erp": {PerSecond: 10, Burst: 5}, "bank": {PerSecond: 1}}, nil)
		start := time.Now()
		var calls sync.WaitGroup
		for range 25 {
			calls.Go(func() {
				v, err := s.Enter(t.Context(), "erp")
				if err == nil {
					err = v.Call(t.Context())
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()
		if took := time.Since(start); took < 2*time.Second-time.Millisecond || took > 2*time.Second+time.Millisecond {
			t.Errorf("25 calls took %s, not 2 s", took)
		}
		v, _ := s.Enter(t.Context(), "bank")
		v.Count() // the default Burst is used up
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		start = time.Now()
		if err := v.Call(ctx); err == nil || time.Since(start) > 0 {
			t.Errorf("%v after %s", err, time.Since(start))
		}
	})
}

// The nil Systems limits nothing.
func TestNoLimits(t *testing.T) {
	var s *systems.Systems
	v, err := s.Enter(t.Context(), "erp")
	if err == nil {
		err = v.Call(t.Context())
	}
	if err != nil {
		t.Error(err)
	}
	v.Count()
	v.Keep()
	v.Leave()
	v.Leave()
}
