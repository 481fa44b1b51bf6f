package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/internal/migrate"
)

// outcome is the result of a decision as JSON.
type outcome struct {
	Redriven  *int           `json:"redriven,omitempty"`
	Discarded *int           `json:"discarded,omitempty"`
	Skipped   int            `json:"skipped"`
	Skips     []redrive.Skip `json:"skips,omitempty"`
}

// report prints the result, also if it ended early. It is no success if chosen letters were
// not found; with --all, finding none is a success.
func (m *Main) report(ctx context.Context, st openStore, d *decideFlags, f dlq.Filter, done redrive.Result, participle string, failed error) error {
	var printed error
	if m.json() {
		o := outcome{Skipped: done.Skipped, Skips: done.Skips}
		if participle == "redriven" {
			o.Redriven = &done.Done
		} else {
			o.Discarded = &done.Done
		}
		printed = m.emitJSON("", o)
	} else {
		printed = m.printOutcome(done, participle)
	}
	switch {
	case failed != nil:
		return failed
	case printed != nil:
		return printed
	case done.Skipped > 0 && done.Done > 0:
		return errIncomplete
	case done.Skipped > 0:
		if i := slices.IndexFunc(done.Skips, func(s redrive.Skip) bool { return s.Key != "" }); i >= 0 {
			return fmt.Errorf("%w: a step needs a person: see %s", errRefused, m.command("steps "+migrate.Quote(done.Skips[i].Key)))
		}
		return errFound
	case done.Done > 0 && participle == "discarded":
		m.next("dlq groups%s", chosen(dlq.Filter{Consumer: f.Consumer}))
		return nil
	case done.Done > 0:
		m.next("backlog ls%s", chosen(dlq.Filter{Consumer: f.Consumer}))
		return nil
	case done.Done == 0 && !d.all:
		return m.nothing(ctx, st, f, "nothing was done: no open letter matches")
	}
	return nil
}

func (m *Main) printOutcome(done redrive.Result, participle string) error {
	line := fmt.Sprintf("%d %s", done.Done, participle)
	if done.Skipped > 0 {
		line += fmt.Sprintf(", %d skipped", done.Skipped)
	}
	if err := m.line("%s", line); err != nil {
		return err
	}
	for _, skip := range done.Skips {
		if err := m.line("  %d: %s", skip.LetterID, skip.Why); err != nil {
			return err
		}
	}
	if more := done.Skipped - len(done.Skips); more > 0 {
		return m.line("  and %d more", more)
	}
	return nil
}
