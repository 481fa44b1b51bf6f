package rehearsal_test

import (
	"context"
	"errors"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/rehearsal"
	"github.com/headrace/headrace/internal/task"
)

// A process rehearses for one person at a time, so that the work beside it is not held up by many.
func TestTwice(t *testing.T) {
	onEachDriver(t, []string{"a"}, func(f *fixture) {
		f.now(func(context.Context, *headrace.Tx, task.Input) error {
			f.refused(rehearsal.Args{}, "another rehearsal under way")
			return errors.New("still")
		})
		for range 2 {
			if report := f.rehearse(); len(report.Results) != 1 || report.Results[0].Outcome != rehearsal.Fails {
				f.Errorf("%+v", report)
			}
		}
	})
}
