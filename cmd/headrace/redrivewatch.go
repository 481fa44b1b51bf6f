package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/dlq/job"
)

func (m *Main) redriveWatchCommand() *cobra.Command {
	return &cobra.Command{
		Use: "watch R-N", Short: "watch a redrive until it ends or pauses", Args: one("redrive"),
		Long: `Shows how a redrive goes on until it ends or pauses. Ending the command does not end the redrive.
Exit status 3 if letters failed again or were skipped, 6 if the redrive is paused.`,
		RunE: m.do(func(ctx context.Context, args []string) error {
			return m.withRedrive(ctx, args[0], func(st openStore, r job.Redrive) error { return m.watch(ctx, st, r.ID) })
		}),
	}
}

// watch shows how a redrive goes on, until it ends or pauses, and then what became of it.
func (m *Main) watch(ctx context.Context, st openStore, id int64) error {
	work, stop := m.Interruptible(ctx)
	defer stop()
	stage, why, last := 0, "", time.Time{}
	for {
		r, err := st.Operations().Redrives.Get(work, id)
		if err == nil && r.State != job.Running {
			return m.ended(ctx, st, r)
		}
		if err == nil && (r.Stage != stage || r.Why != why || time.Since(last) >= m.ProgressEvery) {
			stage, why, last = r.Stage, r.Why, time.Now()
			err = m.progressOf(work, st, r)
		}
		if work.Err() == nil && err != nil {
			return err
		}
		select {
		case <-work.Done():
			return fmt.Errorf("%w; %s goes on: %s", errInterrupted, job.Name(id), m.command("redrive watch "+job.Name(id)))
		case <-time.After(askEvery):
		}
	}
}

// progressOf says how far a redrive is.
func (m *Main) progressOf(ctx context.Context, st openStore, r job.Redrive) error {
	v, err := viewRedrive(ctx, st, r)
	if err != nil {
		return err
	}
	line := fmt.Sprintf("%s stage %d: %s", v.Name, v.Stage, v.outcomes())
	if v.Why != "" {
		line += "; " + v.Why
	}
	m.say("%s", line)
	return nil
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
		return errIncomplete
	}
	return nil
}
