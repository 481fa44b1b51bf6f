package steps

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/txn"
)

// whyAwaits is why a message waits, as people read it.
const whyAwaits = "it waits for a signal"

// Await implements ledger.Session.
func (s *Session) Await(ctx context.Context, r ledger.Request) (value []byte, err error) {
	if err := s.enter(&r); err != nil {
		return nil, fmt.Errorf("signal %s: %w", r.Step(), err)
	}
	defer s.inFlight.Done()
	if err := s.load(ctx); err != nil {
		return nil, err
	}
	for {
		value, ended, err := s.await(ctx, &r)
		if ended || err != nil {
			return value, err
		}
	}
}

// await returns the value of a signal, or an error. It reports false if the row has changed
// meanwhile, or may have: look again.
func (s *Session) await(ctx context.Context, r *ledger.Request) (value []byte, ended bool, err error) {
	was, _ := s.row(r)
	row := ledger.Row{ID: s.m.ID, Step: r.Step()}
	switch {
	case was == nil && s.full():
		return nil, true, tooMany("signal " + r.Name)
	case was != nil && was.System != "":
		return nil, true, retry.Permanent(fmt.Errorf("signal %s: a step of this name is recorded: give the signal another name", r.Name))
	case was == nil, was.State == ledger.Failed:
		return nil, false, s.change(ctx, "wait for signal "+r.Name, func(ctx context.Context, t *txn.Txn) (bool, error) { return s.Signals.Await(ctx, t, row, r.Timeout) })
	case was.State == ledger.Awaiting:
		if left := -was.since(was.Age); left > 0 {
			return nil, true, s.put(r, left)
		}
		return nil, false, s.change(ctx, "wait for signal "+r.Name, func(ctx context.Context, t *txn.Txn) (bool, error) { return s.Signals.Expire(ctx, t, row) })
	case was.State == ledger.Expired:
		return nil, true, retry.Permanent(fmt.Errorf("signal %s: %w within %s", r.Name, ledger.ErrNoSignal, r.Timeout))
	case was.State == ledger.Done && was.Size >= 0:
		value, err := s.result(ctx, &was.Row)
		return value, true, err
	}
	return nil, true, retry.Permanent(&ledger.ParkedError{Step: r.Name, Reason: whyNoResult})
}

// put puts the message off until the time of the signal is over. A signal may come later
// than other messages may be put off.
func (s *Session) put(r *ledger.Request, left time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.awaits = append(s.awaits, r.Step())
	return retry.PostponeWithin(left, s.m.Postponed+left+time.Minute, fmt.Errorf("signal %s: %s", r.Name, whyAwaits))
}

// Awaits returns the signals that the run found missing.
func (s *Session) Awaits() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.awaits)
}
