package read

import (
	"context"
	"slices"
	"strconv"

	"github.com/headrace/headrace/audit"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/internal/inspect"
	"github.com/headrace/headrace/ui/view"
)

// failedShown is how many letters that failed again a redrive shows.
const failedShown = 10

// Redrive is what the page of a redrive shows.
type Redrive struct {
	job.Redrive
	// Called is its name: R-42.
	Called string
	// Outcomes are those of its letters, Bar draws them, and Decided counts the final ones.
	Outcomes []view.Outcome
	Bar      []view.Rect
	Decided  int64
	// Stages are those of its options. Checks are what is to be known of a plan.
	Stages []view.Stage
	Checks []inspect.Check
	// Failed are letters that failed again, at most ten.
	Failed []job.Entry
	// Life are the decisions on it. Silent says that no process works on it.
	Life   []view.Event
	Silent bool
	// Gone counts those of the Looked next letters that are not sent, since others have decided on them.
	Looked, Gone int64
	// Idle is as in Group, of a redrive that a person may apply or resume.
	Idle bool
	// Twins are other plans of the same letters that may be applied.
	Twins []job.Redrive
	// Polls says that it may change by itself. Seen is what the forms carry.
	Polls bool
	Seen  string
}

// Discards says that it discards its letters.
func (d *Redrive) Discards() bool { return d.Kind == job.Discarding }

// Uncertain counts its letters with a call whose outcome is unknown, as they were listed.
func (d *Redrive) Uncertain() (n int64) {
	for _, s := range d.Survey {
		n += s.OpenCalls
	}
	return n
}

// RedriveSeen is what the forms of a redrive carry. Its stage may go on meanwhile.
func RedriveSeen(r job.Redrive) string { return view.Seen(r.State, r.Applied, r.Resumed) }

// Redrive reads what the page of a redrive shows.
func (r Reader) Redrive(ctx context.Context, id int64) (*Redrive, error) {
	ops := r.Store.Operations()
	one, err := ops.Redrives.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	d := &Redrive{Redrive: one, Called: job.Name(id), Silent: inspect.Silent(one), Polls: !one.State.Ended() && one.State != job.Planned, Seen: RedriveSeen(one)}
	outcomes, err := inspect.Outcomes(ctx, r.Store, one)
	if err != nil {
		return nil, err
	}
	d.Outcomes, d.Bar = view.OutcomesOf(one, outcomes)
	d.Decided, d.Stages = one.Succeeded+one.FailedAgain+one.Unknown+one.Skipped, view.StagesOf(one)
	if one.State != job.Planned {
		if d.Looked, d.Gone, err = inspect.Gone(ctx, r.Store, one); err != nil {
			return nil, err
		}
	}
	if one.State == job.Planned || one.State == job.Paused {
		if d.Idle, err = r.Idle(ctx, one.Consumer); err != nil {
			return nil, err
		}
	}
	if one.State == job.Planned {
		if d.Checks, err = inspect.Checks(ctx, r.Store, one); err != nil {
			return nil, err
		}
		if d.Twins, err = r.twins(ctx, one); err != nil {
			return nil, err
		}
	}
	if one.FailedAgain > 0 {
		if d.Failed, err = ops.Redrives.Entries(ctx, id, job.FailedAgain, 0, failedShown); err != nil {
			return nil, err
		}
	}
	rows, err := ops.Audit.List(ctx, audit.Filter{Kind: audit.Redrive, Subject: strconv.FormatInt(id, 10)}, 0, lifeShown)
	d.Life = append(view.Life(rows), view.Event{At: one.Planned, What: "Planned", By: one.PlannedBy})
	return d, err
}

// twins reads the other plans of the same letters that may be applied.
func (r Reader) twins(ctx context.Context, one job.Redrive) ([]job.Redrive, error) {
	list, err := r.Store.Operations().Redrives.List(ctx, one.Consumer, redrivesShown)
	return slices.DeleteFunc(list, func(r job.Redrive) bool {
		return r.ID == one.ID || r.State != job.Planned || !r.Expires.After(r.Now) || r.Kind != one.Kind || r.Filter != one.Filter
	}), err
}

// RedriveRow is a redrive in a list.
type RedriveRow struct {
	job.Redrive
	// Called is its name, Bar draws its outcomes.
	Called string
	Bar    []view.Rect
}

// Redrives reads the newest redrives, at most so many, of a consumer or of all.
func (r Reader) Redrives(ctx context.Context, consumer string, most int) ([]RedriveRow, error) {
	list, err := r.Store.Operations().Redrives.List(ctx, consumer, most)
	rows := make([]RedriveRow, 0, len(list))
	for _, one := range list {
		_, bar := view.OutcomesOf(one, map[job.Outcome]int64{
			job.Succeeded: one.Succeeded, job.FailedAgain: one.FailedAgain, job.Unknown: one.Unknown, job.Skipped: one.Skipped, job.InBacklog: max(0, one.UnderWay()),
		})
		rows = append(rows, RedriveRow{one, job.Name(one.ID), bar})
	}
	return rows, err
}
