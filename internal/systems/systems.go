package systems

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"github.com/headrace/headrace/ledger"
)

// Systems are the systems of a consumer in this process. The nil Systems limits and pauses
// nothing. It is safe for concurrent use.
type Systems struct {
	limits map[string]*limit // not changed after New
	pauses pauses
}

// limit is the limit of one system.
type limit struct {
	slots *semaphore.Weighted // nil without Concurrent
	calls *rate.Limiter       // nil without PerSecond
}

// New returns systems with limits, which are valid, and the pauses of store, which may be
// nil.
func New(limits map[string]ledger.Limit, store ledger.Systems) *Systems {
	s := &Systems{limits: make(map[string]*limit, len(limits)), pauses: pauses{store: store}}
	for name, l := range limits {
		one := &limit{}
		if l.Concurrent > 0 {
			one.slots = semaphore.NewWeighted(int64(l.Concurrent))
		}
		if l.PerSecond > 0 {
			one.calls = rate.NewLimiter(rate.Limit(l.PerSecond), max(l.Burst, 1))
		}
		s.limits[name] = one
	}
	return s
}

// Visit is one step's use of a system. Its methods are safe for concurrent use.
type Visit struct {
	limit *limit // nil without one

	mu   sync.Mutex
	uses int // the step itself, and its functions that have not returned
}

// Enter waits until one more step may call the system, and begins its visit; Leave ends it.
// It returns an error if ctx ends first.
func (s *Systems) Enter(ctx context.Context, system string) (*Visit, error) {
	v := &Visit{uses: 1}
	if s != nil {
		v.limit = s.limits[system]
	}
	if v.limit == nil || v.limit.slots == nil {
		return v, nil
	}
	if err := v.limit.slots.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	return v, nil
}

// Limited reports whether Enter and Call may wait for other steps.
func (v *Visit) Limited() bool { return v.limit != nil }

// Call waits until the next call may begin. It returns an error if ctx ends first, or would:
// then at once.
func (v *Visit) Call(ctx context.Context) error {
	if v.limit == nil || v.limit.calls == nil {
		return nil
	}
	return v.limit.calls.Wait(ctx)
}

// Count counts a call that does not wait: the next ones wait longer.
func (v *Visit) Count() {
	if v.limit != nil && v.limit.calls != nil {
		v.limit.calls.Reserve()
	}
}

// Keep prolongs the visit until Leave is called once more.
func (v *Visit) Keep() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.uses++
}

// Leave ends the visit, or one Keep.
func (v *Visit) Leave() {
	v.mu.Lock()
	v.uses--
	last := v.uses == 0
	v.mu.Unlock()
	if last && v.limit != nil && v.limit.slots != nil {
		v.limit.slots.Release(1)
	}
}
