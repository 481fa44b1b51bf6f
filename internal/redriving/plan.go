package redriving

import (
	"cmp"
	"context"
	"slices"
	"time"

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
	// Valid is how long it may be applied, from LeastValid to MostValid; 0 is job.Valid.
	Valid time.Duration `json:"valid_ns,omitempty"`
	// Since is the newest redrive of the consumer that the person knew of: a plan of the same letters that was
	// made since is the answer, and not a second one. nil makes one whatever there is.
	Since *int64 `json:"since,omitempty"`
	job.Options
}

// Bounds of Plan.Valid. What was true of letters longer ago is no reason to redrive them.
const (
	LeastValid = time.Minute
	MostValid  = 24 * time.Hour
)

// Plan lists the letters that a filter chooses, in batches of a transaction each. The error
// matches instance.ErrRefused if there is none.
func (e *Engine) Plan(ctx context.Context, p Plan, by string) (job.Redrive, error) {
	if p.Kind != job.Redriving && p.Kind != job.Discarding {
		return job.Redrive{}, instance.Refuse("a plan is to redrive or to discard, and not to %q", string(p.Kind))
	}
	p.Valid = cmp.Or(p.Valid, job.Valid)
	if p.Valid < LeastValid || p.Valid > MostValid {
		return job.Redrive{}, instance.Refuse("a plan is valid from %s to %s, and not %s", LeastValid, MostValid, p.Valid)
	}
	if err := p.Check(); err != nil {
		return job.Redrive{}, instance.Refuse("%v", err)
	}
	f := p.Filter
	if f.Consumer != "" && f.Consumer != e.Consumer {
		return job.Redrive{}, instance.Refuse("these are letters of %s, and not of %s", f.Consumer, e.Consumer)
	}
	f.Consumer = e.Consumer
	if first, found, err := e.same(ctx, p, 0); err != nil || found {
		return first, err
	}
	w, err := e.world(ctx)
	if err != nil {
		return job.Redrive{}, err
	}
	id, err := e.jobs().Create(ctx, job.Redrive{
		Kind: p.Kind, Consumer: e.Consumer, Filter: p.Says, Handler: f.Handler, ErrorFingerprint: f.ErrorFingerprint, Builds: w.Builds(), Options: p.Options, PlannedBy: by,
	})
	if err != nil {
		return job.Redrive{}, err
	}
	if first, found, err := e.yield(ctx, p, id); err != nil || found {
		return first, err
	}
	survey, err := e.list(ctx, id, f)
	if err != nil {
		return job.Redrive{}, err
	}
	count := int64(0)
	for _, s := range survey {
		count += s.Letters
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
	if err := e.jobs().Planned(ctx, id, count, p.Valid, survey); err != nil {
		return job.Redrive{}, err
	}
	return e.jobs().Get(ctx, id)
}

// list puts the letters of f onto the list of a redrive, a window at a time, and returns what is to
// be known about them.
func (e *Engine) list(ctx context.Context, id int64, f dlq.Filter) (all []job.Survey, err error) {
	letters := e.Store.Letters()
	walk, err := search.NewOldest(ctx, letters, f, dlq.Span{})
	if err != nil {
		return nil, err
	}
	for {
		w, more, err := walk.Span(ctx, window)
		if err != nil || !more {
			slices.SortFunc(all, func(a, b job.Survey) int {
				return cmp.Or(cmp.Compare(a.Handler, b.Handler), cmp.Compare(a.Build, b.Build))
			})
			return all, err
		}
		chosen := f
		if f.InGo() {
			chosen = dlq.Filter{Consumer: f.Consumer}
			if chosen.IDs, err = letters.IDsIn(ctx, f, w); err != nil {
				return nil, err
			}
			if len(chosen.IDs) == 0 {
				continue
			}
		}
		some, err := e.jobs().Add(ctx, id, chosen, w)
		if err != nil {
			return nil, err
		}
		for _, s := range some {
			if i := slices.IndexFunc(all, func(a job.Survey) bool { return a.Handler == s.Handler && a.Build == s.Build }); i >= 0 {
				all[i].Plus(s)
			} else {
				all = append(all, s)
			}
		}
	}
}
