package redriving

import (
	"context"

	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/instance"
)

// The kinds of requests.
const (
	KindPlan   = "plan"
	KindApply  = "apply"
	KindPause  = "pause"
	KindResume = "resume"
	KindCancel = "cancel"
)

// Which names a redrive: the Args of the requests to pause and to cancel one.
type Which struct {
	ID int64 `json:"id"`
}

// Actions do what people ask, by the kind of the request. Each answers with the redrive (Answer).
func (e *Engine) Actions() map[string]instance.Action {
	return map[string]instance.Action{
		KindPlan: action(func(ctx context.Context, r instance.Request, p Plan) (job.Redrive, error) {
			return e.Plan(ctx, p, r.By)
		}),
		KindApply: action(func(ctx context.Context, r instance.Request, a Apply) (job.Redrive, error) {
			return e.Apply(ctx, a, r.By, r.Reason)
		}),
		KindPause: action(func(ctx context.Context, r instance.Request, w Which) (job.Redrive, error) {
			return e.Pause(ctx, w.ID, r.By, r.Reason)
		}),
		KindResume: action(func(ctx context.Context, r instance.Request, a Resume) (job.Redrive, error) {
			a.By = r.By
			return e.Resume(ctx, a)
		}),
		KindCancel: action(func(ctx context.Context, r instance.Request, w Which) (job.Redrive, error) {
			return e.Cancel(ctx, w.ID, r.By, r.Reason)
		}),
	}
}

// Answer is the answer to a request.
type Answer struct {
	ID    int64     `json:"id"`
	State job.State `json:"state"`
	Count int64     `json:"count"`
}

// action answers with the redrive.
func action[A any](do func(context.Context, instance.Request, A) (job.Redrive, error)) instance.Action {
	return instance.Does(func(ctx context.Context, r instance.Request, args A) (Answer, error) {
		done, err := do(ctx, r, args)
		return Answer{ID: done.ID, State: done.State, Count: done.Count}, err
	})
}
