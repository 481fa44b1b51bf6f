package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/internal/inspect"
)

// redriveView is a redrive as JSON.
type redriveView struct {
	ID        int64            `json:"id"`
	Name      string           `json:"redrive"`
	Kind      job.Kind         `json:"kind"`
	State     job.State        `json:"state"`
	Why       string           `json:"why"`
	Consumer  string           `json:"consumer"`
	Filter    string           `json:"filter,omitempty"`
	Builds    []string         `json:"builds"`
	Stages    []int            `json:"stages"`
	Stage     int              `json:"stage"`
	Count     int64            `json:"count"`
	Outcomes  map[string]int64 `json:"outcomes"` // how many letters have each outcome
	PlannedBy string           `json:"planned_by"`
	Planned   time.Time        `json:"planned_at"`
	Expires   time.Time        `json:"expires_at,omitzero"`
	AppliedBy string           `json:"applied_by,omitempty"`
	Reason    string           `json:"reason,omitempty"`
	Applied   time.Time        `json:"applied_at,omitzero"`
	Stepped   time.Time        `json:"stepped_at,omitzero"`
	Ended     time.Time        `json:"ended_at,omitzero"`
	// Failed are letters that failed again, at most ten.
	Failed []redrivenView `json:"failed,omitempty"`
	// Checks are those of a plan.
	Checks []inspect.Check `json:"checks,omitempty"`
}

func viewRedrive(ctx context.Context, st openStore, r job.Redrive) (redriveView, error) {
	v := redriveView{
		ID: r.ID, Name: job.Name(r.ID), Kind: r.Kind, State: r.State, Why: r.Why, Consumer: r.Consumer, Filter: r.Filter,
		Builds: append([]string{}, r.Builds...), Stages: append([]int{}, r.Stages...), Stage: r.Stage, Count: r.Count,
		PlannedBy: r.PlannedBy, Planned: r.Planned, Expires: r.Expires, AppliedBy: r.AppliedBy, Reason: r.Reason, Applied: r.Applied, Stepped: r.Stepped, Ended: r.Ended,
		Outcomes: map[string]int64{},
	}
	outcomes, err := inspect.Outcomes(ctx, st, r)
	if err != nil {
		return v, err
	}
	for o, n := range outcomes {
		v.Outcomes[string(o)] = n
	}
	if r.FailedAgain > 0 {
		failed, err := st.Operations().Redrives.Entries(ctx, r.ID, job.FailedAgain, 0, 10)
		if err != nil {
			return v, err
		}
		for _, e := range failed {
			v.Failed = append(v.Failed, viewRedriven(e))
		}
	}
	switch {
	case r.State == job.Planned && !r.Now.Before(r.Expires):
		v.Why = "it has expired: plan it again"
	case inspect.Silent(r):
		v.Why = fmt.Sprintf("no process of %s has worked on it since %s", r.Consumer, when(r.Stepped))
	}
	return v, nil
}

// outcomes says how many letters have each outcome.
func (v *redriveView) outcomes() string {
	var parts []string
	for _, o := range []struct {
		of   job.Outcome
		says string
	}{
		{job.Succeeded, "succeeded"}, {job.FailedAgain, "failed again"}, {job.InBacklog, "running"}, {job.Retrying, "retrying"}, {job.Postponed, "postponed"},
		{job.Skipped, "skipped"}, {job.Unknown, "unknown"}, {job.Queued, "queued"},
	} {
		n := v.Outcomes[string(o.of)]
		if n == 0 {
			continue
		}
		if o.of == job.Succeeded && v.Kind == job.Discarding {
			o.says = "discarded"
		}
		parts = append(parts, fmt.Sprintf("%d %s", n, o.says))
	}
	return strings.Join(parts, ", ")
}

// showPlanAlone prints a plan with its checks, and how to apply it.
func (m *Main) showPlanAlone(ctx context.Context, st openStore, r job.Redrive) error {
	checks, err := m.showPlan(ctx, st, r)
	if err != nil {
		return err
	}
	if !r.Now.Before(r.Expires) {
		return m.nextPlan(ctx, st, r)
	}
	if i := slices.IndexFunc(checks, func(c inspect.Check) bool { return len(c.Next) > 0 }); i >= 0 {
		words := make([]string, len(checks[i].Next))
		for n, word := range checks[i].Next {
			words[n] = quoteFlag(word)
		}
		m.next("%s", strings.Join(words, " "))
		return nil
	}
	m.next("redrive apply %s --reason WHY", job.Name(r.ID))
	return nil
}

// showPlan prints a plan with its checks, and returns these.
func (m *Main) showPlan(ctx context.Context, st openStore, r job.Redrive) ([]inspect.Check, error) {
	v, err := viewRedrive(ctx, st, r)
	if err != nil {
		return nil, err
	}
	if v.Checks, err = inspect.Checks(ctx, st, r); err != nil {
		return nil, err
	}
	if m.json() {
		return v.Checks, m.emitJSON("", v)
	}
	if err := m.line("%s  %s %s (%s), listed by id, valid until %s", v.Name, v.Kind, plural(v.Count, "letter", "letters"), text(v.Filter), when(v.Expires)); err != nil {
		return nil, err
	}
	for _, c := range v.Checks {
		mark := "ok"
		if !c.OK {
			mark = "warn"
		}
		says := c.Says
		if c.Hint != "" {
			says += ": " + c.Hint
		}
		if err := m.line("  %-4s  %s", mark, says); err != nil {
			return nil, err
		}
	}
	if r.Kind == job.Redriving {
		if err := m.line("%s", stagesOf(r)); err != nil {
			return nil, err
		}
	}
	return v.Checks, nil
}

// stagesOf says how a redrive goes on.
func stagesOf(r job.Redrive) string {
	var sizes []string
	for _, n := range inspect.Stages(r) {
		sizes = append(sizes, strconv.FormatInt(n, 10))
	}
	return fmt.Sprintf("stages %s; it pauses on any failure before the last, then above %v %%", strings.Join(sizes, ", "), r.PauseAt)
}

// showRedrive prints a redrive as it is.
func (m *Main) showRedrive(ctx context.Context, st openStore, id int64) error {
	r, err := st.Operations().Redrives.Get(ctx, id)
	if err != nil {
		return err
	}
	if r.State == job.Planned {
		return m.showPlanAlone(ctx, st, r)
	}
	v, err := viewRedrive(ctx, st, r)
	if err != nil {
		return err
	}
	if m.json() {
		return m.emitJSON("", v)
	}
	head := fmt.Sprintf("%s %s", v.Name, v.State)
	if r.Kind == job.Redriving && (r.State == job.Running || r.State == job.Paused) {
		head += fmt.Sprintf(" in stage %d", v.Stage)
	}
	if v.Why != "" {
		head += ": " + v.Why
	}
	if err := m.line("%s", head); err != nil {
		return err
	}
	if err := m.line("  %s of %s: %s", plural(v.Count, "letter", "letters"), v.Consumer, v.outcomes()); err != nil {
		return err
	}
	if err := m.sayGone(ctx, st, r); err != nil {
		return err
	}
	if v.AppliedBy != "" {
		if err := m.line("  applied by %s, %s: %s", v.AppliedBy, m.when(v.Applied), v.Reason); err != nil {
			return err
		}
	}
	group, err := m.printFailed(ctx, st, v.Failed)
	if err != nil {
		return err
	}
	if err := m.printResolved(ctx, st, r); err != nil {
		return err
	}
	switch {
	case r.State == job.Done && group.ErrorFingerprint != "":
		return m.nextOf(ctx, st, "dlq why", group)
	case len(v.Failed) > 0:
		m.next("dlq show %d", v.Failed[len(v.Failed)-1].Next)
	case r.State == job.Running:
		m.next("redrive watch %s", v.Name)
	case r.State.Ended():
		return m.nextEnded(ctx, st, r)
	}
	if r.State == job.Paused {
		return m.nextPaused(ctx, st, r)
	}
	return nil
}

// sayGone prints how many of the next letters a redrive will not send, since others have decided on
// them.
func (m *Main) sayGone(ctx context.Context, st openStore, r job.Redrive) error {
	next, gone, err := inspect.Gone(ctx, st, r)
	if err != nil || gone == 0 {
		return err
	}
	those := "those"
	if next < r.Queued() {
		those = fmt.Sprintf("the next %d", next)
	}
	return m.line("  of %s queued %d are open, and others have decided on %d", those, next-gone, gone)
}

func (m *Main) redriveShowCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show R-N", Short: "show a redrive: what it does, what became of its letters, what it waits for", Args: one("redrive"),
		RunE: m.do(func(ctx context.Context, args []string) error {
			return m.withRedrive(ctx, args[0], func(st openStore, r job.Redrive) error { return m.showRedrive(ctx, st, r.ID) })
		}),
	}
}

func (m *Main) redriveListCommand() *cobra.Command {
	c := &cobra.Command{Use: "ls", Short: "list redrives, newest first", Args: noArgs}
	consumer := c.Flags().String("consumer", "", "only those of this consumer")
	most := limit{n: 20, most: 1000}
	c.Flags().Var(&most, "limit", "at most so many")
	c.RunE = m.do(func(ctx context.Context, _ []string) error {
		return m.withStore(ctx, func(st openStore) error {
			list, err := st.Operations().Redrives.List(ctx, *consumer, most.n)
			if err != nil {
				return err
			}
			views := []redriveView{}
			var rows [][]string
			for _, r := range list {
				v, err := viewRedrive(ctx, st, r)
				if err != nil {
					return err
				}
				views = append(views, v)
				by := v.AppliedBy
				if by == "" {
					by = v.PlannedBy
				}
				rows = append(rows, []string{v.Name, string(v.Kind), string(v.State), v.Consumer, m.when(v.Planned), by, strconv.FormatInt(v.Count, 10), text(v.outcomes()), short(text(v.Why), 60)})
			}
			if err := m.emit("redrives", views, []string{"REDRIVE", "KIND", "STATE", "CONSUMER", "PLANNED", "BY", "COUNT", "OUTCOMES", "WHY"}, rows); err != nil {
				return err
			}
			if len(list) == 0 {
				return knownConsumer(ctx, st, *consumer, "")
			}
			first := max(0, slices.IndexFunc(list, func(r job.Redrive) bool { return !r.State.Ended() }))
			m.next("redrive show %s", views[first].Name)
			return nil
		})
	})
	return c
}
