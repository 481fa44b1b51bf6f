package ui

import (
	"net/http"
	"slices"
	"time"

	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/redriving"
	"github.com/headrace/headrace/ui/read"
)

func (v *visit) theRedrive() (job.Redrive, error) {
	id, err := v.number()
	if err != nil {
		return job.Redrive{}, err
	}
	return v.s.st.Operations().Redrives.Get(v.ctx(), id)
}

func redrivePage(v *visit) error {
	r, err := v.theRedrive()
	if err != nil {
		return err
	}
	return v.showRedrive(r.ID, http.StatusOK)
}

// showRedrive shows a redrive as it is now.
func (v *visit) showRedrive(id int64, status int) error {
	d, err := v.s.read.Redrive(v.ctx(), id)
	if err != nil {
		return err
	}
	v.refresh = d.Polls && v.r.Method == http.MethodGet
	return v.page(status, "redrive", d.Called, "redrives", d)
}

// onRedrive asks for something that is done to a redrive.
func (v *visit) onRedrive(kind string, needsReason bool, valid time.Duration, args func(id int64) any) error {
	r, err := v.theRedrive()
	if err != nil {
		return err
	}
	show := func(status int) error { return v.showRedrive(r.ID, status) }
	if stale, err := v.stale(read.RedriveSeen(r), show); stale || err != nil {
		return err
	}
	request := instance.Request{Kind: kind, Consumer: r.Consumer}
	if needsReason {
		if request.Reason, err = reason(v); err != nil {
			return err
		}
	}
	return v.ask(request, args(r.ID), valid, show)
}

func applyRedrive(v *visit) error {
	return v.onRedrive(redriving.KindApply, true, instance.Valid, func(id int64) any {
		return redriving.Apply{ID: id, AcceptBuild: checked(v, "accept"), Anyway: checked(v, "anyway"), OpenCalls: checked(v, "open")}
	})
}

// Pausing and cancelling only stop: such a request is not lost while no process runs.
func pauseRedrive(v *visit) error {
	return v.onRedrive(redriving.KindPause, true, instance.MaxValid, func(id int64) any { return redriving.Which{ID: id} })
}

func cancelRedrive(v *visit) error {
	return v.onRedrive(redriving.KindCancel, true, instance.MaxValid, func(id int64) any { return redriving.Which{ID: id} })
}

func resumeRedrive(v *visit) error {
	return v.onRedrive(redriving.KindResume, false, instance.Valid, func(id int64) any {
		return redriving.Resume{ID: id, AcceptBuild: checked(v, "accept")}
	})
}

func checked(v *visit, name string) bool { return v.r.PostForm.Get(name) != "" }

// redrives lists the newest redrives.
func redrives(v *visit) error {
	const shown = 50
	rows, err := v.s.read.Redrives(v.ctx(), v.r.Form.Get("consumer"), shown)
	if err != nil {
		return err
	}
	open := slices.ContainsFunc(rows, func(r read.RedriveRow) bool { return r.State == job.Running })
	return v.page(http.StatusOK, "redrives", "Redrives", "redrives", map[string]any{"Rows": rows, "Full": len(rows) == shown, "Polls": open})
}
