package steps

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/ledger"
)

// Park parks the calls of unknown outcome of a session's message whose step is gone. It reads what is
// recorded if no step has done that yet.
func Park(ctx context.Context, s *Session) error {
	if !s.plan.HasGone() {
		return nil
	}
	if err := s.load(ctx); err != nil {
		return err
	}
	var rows []ledger.Row
	s.mu.Lock()
	for _, r := range s.rows {
		rows = append(rows, r.Row)
	}
	s.mu.Unlock()
	for _, r := range s.plan.Orphans(rows) {
		if _, err := s.fenced(ctx, func(ctx context.Context) (bool, error) { return s.Steps.RecordOutcome(ctx, s.m.Lease, r) }); err != nil {
			return fmt.Errorf("park step %s: %w", r.Step, err)
		}
	}
	return nil
}
