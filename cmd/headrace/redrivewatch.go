package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/job"
)

func (m *Main) redriveWatchCommand() *cobra.Command {
	return &cobra.Command{
		Use: "watch R-N", Short: "watch a redrive until it ends or pauses", Args: one("redrive"),
		Long: `Shows the progress of a redrive until it ends or pauses. Ending the command does not end the redrive.
Exit status 3 if letters failed again or were skipped, 6 if the redrive is paused.`,
		RunE: m.do(func(ctx context.Context, args []string) error {
			return m.withRedrive(ctx, args[0], func(st openStore, r job.Redrive) error {
				if r.State == job.Planned || r.State == job.Preparing {
					m.refused = true
					m.next("redrive show %s", job.Name(r.ID))
					return fmt.Errorf("%w: %s is %s, and not applied", errRefused, job.Name(r.ID), r.State)
				}
				return m.watch(ctx, st, r.ID)
			})
		}),
	}
}

// watch shows how a redrive goes on, until it ends or pauses, and then what became of it.
func (m *Main) watch(ctx context.Context, st openStore, id int64) error {
	work, stop := m.Interruptible(ctx)
	defer stop()
	r, err := m.follow(work, st, id)
	switch {
	case work.Err() != nil:
		return fmt.Errorf("%w; %s goes on: %s", errInterrupted, job.Name(id), m.command("redrive watch "+job.Name(id)))
	case err != nil:
		return err
	}
	if !m.json() {
		if err := awaitResolved(work, st, r); err != nil {
			return err
		}
	}
	return m.ended(ctx, st, r)
}

// follow shows the progress of a redrive until it does not run, and returns it.
func (m *Main) follow(ctx context.Context, st openStore, id int64) (job.Redrive, error) {
	var bar *progress
	stage, why := 0, ""
	for {
		r, err := st.Operations().Redrives.Get(ctx, id)
		if err != nil || r.State != job.Running {
			return r, err
		}
		v, err := viewRedrive(ctx, st, r)
		if err != nil {
			return r, err
		}
		if bar == nil {
			bar = m.progress(v.Name, v.Count)
			defer bar.end()
		}
		reason := dlq.Normal(v.Why) // without how many are left
		bar.tell(v.over(), v.goesOn(), v.Stage != stage || reason != why)
		stage, why = v.Stage, reason
		select {
		case <-ctx.Done():
			return r, ctx.Err()
		case <-time.After(askEvery):
		}
	}
}

// over counts the letters that have their last outcome.
func (v *redriveView) over() int {
	n := v.Count
	for _, o := range []job.Outcome{job.Queued, job.InBacklog, job.Retrying, job.Postponed} {
		n -= v.Outcomes[string(o)]
	}
	return int(n)
}

// goesOn says how far a redrive is.
func (v *redriveView) goesOn() string {
	says := fmt.Sprintf("stage %d, %s", v.Stage, v.outcomes())
	if v.Why != "" {
		says += "; " + v.Why
	}
	return says
}

// ended prints what became of a redrive that does not run.
func (m *Main) ended(ctx context.Context, st openStore, r job.Redrive) error {
	if err := m.showRedrive(ctx, st, r.ID); err != nil {
		return err
	}
	switch {
	case r.State == job.Paused:
		return errPaused
	case r.State == job.Cancelled:
		m.say("%s was cancelled: letters that were not sent stay open, and those that were sent go on", job.Name(r.ID))
		return errIncomplete
	case r.State != job.Done || r.Succeeded != r.Count:
		return skippedAll(ctx, st, r)
	}
	return nil
}
