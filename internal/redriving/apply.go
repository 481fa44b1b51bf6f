package redriving

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/headrace/headrace/audit"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/instance"
)

// Apply says which plan to apply.
type Apply struct {
	ID int64 `json:"id"`
	// AcceptBuild goes on although other builds run than when it was planned. Anyway goes on
	// although the messages would only wait.
	AcceptBuild bool `json:"accept_build"`
	Anyway      bool `json:"anyway"`
	// OpenCalls lets a discard end letters with a call whose outcome is unknown, which it skips
	// otherwise.
	OpenCalls bool `json:"open_calls"`
}

// Apply makes a plan a running job. The error matches instance.ErrRefused if it is not a plan any
// more, or what it saw has changed.
func (e *Engine) Apply(ctx context.Context, a Apply, by, reason string) (job.Redrive, error) {
	w, err := e.world(ctx)
	if err != nil {
		return job.Redrive{}, err
	}
	plan, err := e.jobs().Get(ctx, a.ID)
	if err != nil {
		return job.Redrive{}, err
	}
	newer, err := e.jobs().NewLetters(ctx, plan, w.Builds())
	if err != nil {
		return job.Redrive{}, err
	}
	missing := missing(plan, w)
	row := audit.Row{Action: "apply", By: by, Reason: reason}
	if a.OpenCalls {
		row.Detail = "with open calls"
	}
	return e.change(ctx, a.ID, row, func(r *job.Redrive) error {
		if err := notPlanned(r); err != nil {
			return err
		}
		if strings.TrimSpace(reason) == "" {
			return instance.Refuse("say why")
		}
		if r.OpenCalls = a.OpenCalls; r.Kind == job.Redriving {
			if a.OpenCalls {
				return instance.Refuse("%s is no discard: open calls stay as they are", job.Name(r.ID))
			}
			if changed := changes(r, a, w, newer, missing); len(changed) > 0 {
				return instance.Refuse("%s cannot be applied now: %s", job.Name(r.ID), strings.Join(changed, "; "))
			}
		}
		r.Builds = w.Builds()
		r.State, r.AppliedBy, r.Reason, r.Applied, r.Resumed, r.Stepped = job.Running, by, reason, r.Now, r.Now, r.Now
		r.Begin(1, r.Now)
		return nil
	})
}

// notPlanned refuses what cannot be applied any more.
func notPlanned(r *job.Redrive) error {
	switch {
	case r.State == job.Preparing:
		return instance.Refuse("%s is being prepared, or the process that prepared it has ended: plan it again", job.Name(r.ID))
	case r.State == job.Cancelled && r.AppliedBy == "":
		return instance.Refuse("%s is cancelled: %s", job.Name(r.ID), r.Why)
	case r.State != job.Planned:
		return instance.Refuse("%s was applied by %s at %s", job.Name(r.ID), r.AppliedBy, clock(r.Applied))
	case !r.Now.Before(r.Expires):
		return instance.Refuse("%s was valid until %s: plan it again", job.Name(r.ID), clock(r.Expires))
	}
	return nil
}

// changes says what is not any more as it was when r was planned, or would let the messages only
// wait.
func changes(r *job.Redrive, a Apply, w world, newer int64, missing []string) (list []string) {
	builds := w.Builds()
	if !a.AcceptBuild {
		if !subset(builds, r.Builds) {
			list = append(list, fmt.Sprintf("%s runs %s now, and ran %s then (--accept-build goes on)", r.Consumer, job.NameBuilds(builds), job.NameBuilds(r.Builds)))
		} else if len(builds) > 1 {
			list = append(list, fmt.Sprintf("%s runs several builds, %s (--wait waits until one is left, --accept-build goes on)", r.Consumer, job.NameBuilds(builds)))
		}
	}
	if newer > 0 {
		list = append(list, fmt.Sprintf("%d new letters for the same reasons from %s: the fix does not work", newer, job.NameBuilds(builds)))
	}
	if a.Anyway {
		return list
	}
	if w.Paused != "" {
		list = append(list, w.Paused+" (--anyway goes on: the messages wait)")
	}
	if len(missing) > 0 {
		list = append(list, fmt.Sprintf("no process of %s has the handler %s (--anyway goes on: the messages wait)", r.Consumer, strings.Join(missing, ", ")))
	}
	return list
}

// subset reports whether each of some is one of all, and there are some.
func subset(some, all []string) bool {
	return len(some) > 0 && !slices.ContainsFunc(some, func(one string) bool { return !slices.Contains(all, one) })
}

// missing returns the handlers of letters that no running process has.
func missing(r job.Redrive, w world) (names []string) {
	for _, s := range r.Survey {
		if s.Handler != "" && !w.handlers[s.Handler] && !slices.Contains(names, s.Handler) {
			names = append(names, s.Handler)
		}
	}
	return names
}

// Pause pauses a running job, after the step that a process may be taking.
func (e *Engine) Pause(ctx context.Context, id int64, by, reason string) (job.Redrive, error) {
	return e.change(ctx, id, audit.Row{Action: "pause", By: by, Reason: reason}, func(r *job.Redrive) error {
		if r.State != job.Running {
			return instance.Refuse("%s is %s", job.Name(id), r.State)
		}
		r.State, r.Why = job.Paused, says(by, reason)
		return nil
	})
}

// Resume says which job to resume.
type Resume struct {
	ID int64 `json:"id"`
	// FromStage is the stage that it begins again with; 0 is the one that it is in.
	FromStage int `json:"from_stage"`
	// AcceptBuild is as in Apply.
	AcceptBuild bool `json:"accept_build"`
	// By says who resumes it.
	By string `json:"-"`
}

// Resume lets a paused job go on: it begins its stage again.
func (e *Engine) Resume(ctx context.Context, a Resume) (job.Redrive, error) {
	w, err := e.world(ctx)
	if err != nil {
		return job.Redrive{}, err
	}
	row := audit.Row{Action: "resume", By: a.By}
	if a.AcceptBuild {
		row.Detail = "for " + job.NameBuilds(w.Builds())
	}
	return e.change(ctx, a.ID, row, func(r *job.Redrive) error {
		builds := w.Builds()
		switch {
		case r.State != job.Paused:
			return instance.Refuse("%s is %s", job.Name(r.ID), r.State)
		case a.FromStage < 0 || a.FromStage > r.Stage:
			return instance.Refuse("%s is in stage %d", job.Name(r.ID), r.Stage)
		case !a.AcceptBuild && r.Kind == job.Redriving && !slices.Equal(builds, r.Builds):
			return instance.Refuse("%s runs %s now, and %s was applied for %s (--accept-build goes on)", r.Consumer, job.NameBuilds(builds), job.Name(r.ID), job.NameBuilds(r.Builds))
		}
		stage := r.Stage
		if a.FromStage > 0 {
			stage = a.FromStage
		}
		r.Builds = builds
		r.State, r.Why, r.Resumed, r.Stepped = job.Running, "", r.Now, r.Now
		r.Begin(stage, r.Now)
		return nil
	})
}

// Cancel ends a plan or a job. Letters that were not sent stay open; those that were go on.
func (e *Engine) Cancel(ctx context.Context, id int64, by, reason string) (job.Redrive, error) {
	return e.change(ctx, id, audit.Row{Action: "cancel", By: by, Reason: reason}, func(r *job.Redrive) error {
		if r.State.Ended() {
			return instance.Refuse("%s is %s", job.Name(id), r.State)
		}
		r.State, r.Why, r.Ended = job.Cancelled, says(by, reason), r.Now
		return nil
	})
}

// says says who has decided, and why.
func says(by, reason string) string {
	text := "by " + by
	if reason != "" {
		text += ": " + reason
	}
	return text
}

// clock formats a time for a sentence.
func clock(t time.Time) string { return t.UTC().Format("15:04:05") + " UTC" }
