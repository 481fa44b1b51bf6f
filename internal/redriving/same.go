package redriving

import (
	"context"

	"github.com/headrace/headrace/audit"
	"github.com/headrace/headrace/dlq/job"
)

// newest is how many redrives are looked at for a plan of the same letters.
const newest = 100

// same returns the first plan of the same letters that was made since the person looked, before the
// redrive called before, or at all if that is 0. It reports false if there is none.
func (e *Engine) same(ctx context.Context, p Plan, before int64) (first job.Redrive, found bool, err error) {
	if p.Since == nil {
		return first, false, nil
	}
	list, err := e.jobs().List(ctx, e.Consumer, newest)
	for _, r := range list {
		if r.ID > *p.Since && (before == 0 || r.ID < before) && (r.State == job.Planned || r.State == job.Preparing) &&
			r.Kind == p.Kind && r.Filter == p.Says && r.Handler == p.Filter.Handler && r.ErrorFingerprint == p.Filter.ErrorFingerprint {
			first, found = r, true
		}
	}
	return first, found, err
}

// yield gives the redrive id up if another process has begun the first plan of the same letters meanwhile, and
// returns that.
func (e *Engine) yield(ctx context.Context, p Plan, id int64) (first job.Redrive, found bool, err error) {
	first, found, err = e.same(ctx, p, id)
	if err != nil || !found {
		return first, found, err
	}
	_, err = e.change(ctx, id, audit.Row{}, func(r *job.Redrive) error {
		r.State, r.Why, r.Ended = job.Cancelled, job.Name(first.ID)+" has the same letters", r.Now
		return nil
	})
	return first, true, err
}
