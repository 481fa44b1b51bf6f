package consumertest

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/ledger"
)

// Delays take no time in a test. Yet for the steps of the message, and for the systems that
// they call, they have passed: the time of a message is the sum of its delays.

// elapsed is the time of a message. The caller holds k.mu.
func (k *Kit) elapsed(id inbox.ID) (sum time.Duration) {
	for _, d := range k.delays[id] {
		sum += d
	}
	return sum
}

// firstCall is the first call with an idempotency key: of which message, and its time then.
type firstCall struct {
	id inbox.ID
	at time.Duration
}

// clockKey is the key of a process's context for its Kit.
type clockKey struct{}

// elapsed is the time of the message whose step calls with key; 0 outside of a Kit.
func elapsed(ctx context.Context, key string) time.Duration {
	k, ok := ctx.Value(clockKey{}).(*Kit)
	if !ok {
		return 0
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	first, ok := k.first[key]
	if !ok {
		return 0
	}
	return k.elapsed(first.id)
}

// met notes that a step of the Kit whose process ctx is of calls s.
func (s *System) met(ctx context.Context) {
	if k, ok := ctx.Value(clockKey{}).(*Kit); ok {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.systems[s] = true
	}
}

// unmet are the faults of the systems that did not happen, as text.
func (k *Kit) unmet() (faults []string) {
	k.mu.Lock()
	systems := slices.Collect(maps.Keys(k.systems))
	k.mu.Unlock()
	for _, s := range systems {
		s.mu.Lock()
		for method, calls := range map[string]iter.Seq[int]{"LoseAnswer": maps.Keys(s.lost), "Fail": maps.Keys(s.faults)} {
			for n := range calls {
				if n > s.calls {
					faults = append(faults, fmt.Sprintf("%s: there were %d calls of the system, and no call %d", method, s.calls, n))
				}
			}
		}
		s.mu.Unlock()
	}
	slices.Sort(faults)
	return faults
}

// stepKey is the idempotency key of a step in a generation.
func (k *Kit) stepKey(ctx context.Context, r ledger.Row, generation int) (string, error) {
	k.mu.Lock()
	database := k.database
	k.mu.Unlock()
	if database == "" {
		var err error
		if database, err = k.place.kit.Operations().Schema.Check(ctx); err != nil {
			return "", err
		}
		k.mu.Lock()
		k.database = database
		k.mu.Unlock()
	}
	return encode.IdempotencyKey(database, r.ID.Scope, r.ID.Key, r.Step, generation), nil
}

// clockSteps lets the time of a message pass for its steps. Signals whose time Steps.Expire
// has passed are over.
type clockSteps struct {
	ledger.Store
	k *Kit
}

func (s clockSteps) Mark(ctx context.Context, l backlog.Lease, r ledger.Row) (bool, error) {
	if err := s.begins(ctx, r); err != nil {
		return false, err
	}
	return s.Store.Mark(ctx, l, r)
}

func (s clockSteps) Repeat(ctx context.Context, l backlog.Lease, was, r ledger.Row) (bool, error) {
	if err := s.begins(ctx, r); err != nil {
		return false, err
	}
	return s.Store.Repeat(ctx, l, was, r)
}

// begins notes when a call begins.
func (s clockSteps) begins(ctx context.Context, r ledger.Row) error {
	key, err := s.k.stepKey(ctx, r, r.Generation)
	if err != nil {
		return err
	}
	s.k.mu.Lock()
	defer s.k.mu.Unlock()
	now := s.k.elapsed(r.ID)
	s.k.called[r.CallID] = now
	if _, ok := s.k.first[key]; !ok {
		s.k.first[key] = firstCall{r.ID, now}
	}
	return nil
}

func (s clockSteps) List(ctx context.Context, id inbox.ID) ([]ledger.Row, error) {
	rows, err := s.Store.List(ctx, id)
	for i := range rows {
		if err := s.pass(ctx, &rows[i]); err != nil {
			return nil, err
		}
	}
	return rows, err
}

// pass has the time pass since the calls of a row.
func (s clockSteps) pass(ctx context.Context, r *ledger.Row) error {
	key, err := s.k.stepKey(ctx, *r, r.Generation)
	if err != nil {
		return err
	}
	s.k.mu.Lock()
	defer s.k.mu.Unlock()
	if s.k.expired[stepID{r.ID, r.Step}] {
		r.Age += 365 * 24 * time.Hour
	}
	now := s.k.elapsed(r.ID)
	if at, ok := s.k.called[r.CallID]; ok {
		r.Idle += now - at
	}
	if first, ok := s.k.first[key]; ok {
		r.Age += now - first.at
	}
	return nil
}
