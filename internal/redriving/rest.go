package redriving

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/job"
)

// rest counts what became of the letters of a paused job that were sent, or that others have decided on.
// When none is left it ends the job, so that no person has to resume it. While the next letter is open, it
// looks at that one alone.
func (s *step) rest(ctx context.Context) (d job.Decision, err error) {
	if err := s.settle(ctx); err != nil {
		return d, err
	}
	skipped, err := s.decided(ctx)
	if err != nil {
		return d, err
	}
	s.r.Tally(skipped)
	s.entries = append(s.entries, skipped...)
	if s.r.Queued() <= 0 && s.r.UnderWay() <= 0 {
		d.Action, d.Stage, d.Why = job.Finish, s.r.Stage, fmt.Sprintf("no letter was left while it was paused (%s)", s.r.Why)
		s.r.State, s.r.Ended, s.r.Why = job.Done, s.r.Now, d.Why
	}
	if len(s.entries) == 0 && d.Action == "" {
		return d, nil
	}
	if err := s.jobs().Settle(ctx, s.t, s.r.ID, s.entries); err != nil {
		return d, err
	}
	return d, s.jobs().Change(ctx, s.t, *s.r)
}

// decided returns the first queued letters, as far as they are not open any more.
func (s *step) decided(ctx context.Context) (skipped []job.Entry, err error) {
	for _, n := range []int{1, job.MaxStep} {
		next, err := s.jobs().Next(ctx, s.t, s.r.ID, n)
		if err != nil {
			return nil, err
		}
		skipped = nil
		for _, c := range next {
			if c.Letter == dlq.Open {
				return skipped, nil
			}
			skipped = append(skipped, closed(c))
		}
	}
	return skipped, nil
}
