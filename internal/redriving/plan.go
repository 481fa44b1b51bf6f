package redriving

import (
	"context"
	"math"

	"github.com/headrace/headrace/audit"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/dlq/search"
	"github.com/headrace/headrace/instance"
)

// Plan says what to plan.
type Plan struct {
	Kind job.Kind `json:"kind"`
	// Filter chooses open letters of the consumer, and Says says how, for people.
	Filter dlq.Filter `json:"filter"`
	Says   string     `json:"says"`
	job.Options
}

// Plan lists the letters that a filter chooses, in batches of a transaction each. The error
// matches instance.ErrRefused if there is none.
func (e *Engine) Plan(ctx context.Context, p Plan, by string) (job.Redrive, error) {
	if p.Kind != job.Redriving && p.Kind != job.Discarding {
		return job.Redrive{}, instance.Refuse("a plan is to redrive or to discard, and not to %q", string(p.Kind))
	}
	if err := p.Check(); err != nil {
		return job.Redrive{}, instance.Refuse("%v", err)
	}
	f := p.Filter
	if f.Consumer != "" && f.Consumer != e.Consumer {
		return job.Redrive{}, instance.Refuse("these are letters of %s, and not of %s", f.Consumer, e.Consumer)
	}
	f.Consumer = e.Consumer
	w, err := e.world(ctx)
	if err != nil {
		return job.Redrive{}, err
	}
	id, err := e.jobs().Create(ctx, job.Redrive{
		Kind: p.Kind, Consumer: e.Consumer, Filter: p.Says, Builds: w.Builds(), Options: p.Options, PlannedBy: by,
	})
	if err != nil {
		return job.Redrive{}, err
	}
	count, err := e.list(ctx, id, f)
	if err != nil {
		return job.Redrive{}, err
	}
	if count == 0 {
		_, err := e.change(ctx, id, audit.Row{}, func(r *job.Redrive) error {
			r.State, r.Why, r.Ended = job.Cancelled, "no open letter was found", r.Now
			return nil
		})
		if err != nil {
			return job.Redrive{}, err
		}
		return job.Redrive{}, instance.Refuse("no open letter of %s is chosen", e.Consumer)
	}
	survey, err := e.jobs().Survey(ctx, id, math.MaxInt32)
	if err != nil {
		return job.Redrive{}, err
	}
	if err := e.jobs().Planned(ctx, id, count, job.Valid, survey); err != nil {
		return job.Redrive{}, err
	}
	return e.jobs().Get(ctx, id)
}

// list puts the letters of f onto the list of a redrive. They are found as a list of them is
// (package search).
func (e *Engine) list(ctx context.Context, id int64, f dlq.Filter) (count int64, err error) {
	walk, err := search.NewOldest(ctx, e.Store.Letters(), f, dlq.Span{})
	if err != nil {
		return 0, err
	}
	for {
		letters, err := walk.Next(ctx, batch)
		if err != nil {
			return 0, err
		}
		n, err := e.jobs().Add(ctx, id, f.Consumer, letters)
		if err != nil {
			return 0, err
		}
		count += int64(n)
		if len(letters) < batch {
			return count, nil
		}
	}
}
