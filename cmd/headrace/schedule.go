package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/schedule"
	"github.com/headrace/headrace/store"
)

func (m *Main) scheduleCommand() *cobra.Command {
	ls := &cobra.Command{
		Use: "ls", Short: "list schedules, with their next ticks", Args: noArgs,
		RunE: m.do(func(ctx context.Context, _ []string) error {
			return m.withStore(ctx, func(st openStore) error {
				list, err := st.Operations().Schedules.List(ctx)
				if err != nil {
					return err
				}
				return m.printSchedules(list)
			})
		}),
	}
	fire := &cobra.Command{
		Use: "fire NAME", Short: "ask for a tick now", Args: one("NAME"),
		Long: `Asks for a tick of the schedule. It comes within seconds if a process runs, otherwise when one starts. It is
handled once. A second request is refused while the first tick waits or runs.

Exit status 5 if it is refused.`,
	}
	by := m.writes(fire).Flags().String("by", "", "who asks (default: your user name)")
	fire.RunE = m.do(func(ctx context.Context, args []string) error {
		return m.withStore(ctx, func(st openStore) error { return m.fire(ctx, st, args[0], operator(*by)) })
	})
	return m.parent("schedule", "look at schedules, and ask for ticks", ls, fire)
}

// scheduleView is a schedule as JSON.
type scheduleView struct {
	Name    string    `json:"name"`
	Cron    string    `json:"cron"`
	Zone    string    `json:"zone"`
	Next    time.Time `json:"next,omitzero"`
	Since   time.Time `json:"since"`
	Seen    time.Time `json:"seen_at,omitzero"` // when a process last made its ticks
	Fired   time.Time `json:"fired_at,omitzero"`
	FiredBy string    `json:"fired_by,omitempty"`
	// Checked is until when a source of truth was compared, Missing how many of its items had
	// no message.
	Checked time.Time `json:"checked_to,omitzero"`
	Missing *int64    `json:"missing,omitempty"`
}

func (m *Main) printSchedules(list []store.Schedule) error {
	views, rows := make([]scheduleView, 0, len(list)), make([][]string, 0, len(list))
	for _, s := range list {
		next, _ := schedule.Next(s.Cron, s.Zone, s.Now) // of a newer build it may be unknown here
		v := scheduleView{s.Name, s.Cron, s.Zone, next, s.Since, s.Seen, s.Fired, s.FiredBy, s.Checked, nil}
		missing := "-"
		if s.Missing >= 0 {
			v.Missing, missing = &s.Missing, fmt.Sprint(s.Missing)
		}
		views = append(views, v)
		rows = append(rows, []string{short(s.Name, 40), s.Cron, s.Zone, m.when(next), m.when(s.Since), m.when(s.Seen), m.when(s.Fired), m.when(s.Checked), missing})
	}
	defer m.next("status")
	return m.emit("schedules", views, []string{"NAME", "CRON", "ZONE", "NEXT", "SINCE", "SEEN", "FIRED", "CHECKED TO", "MISSING"}, rows)
}

func (m *Main) fire(ctx context.Context, st openStore, name, by string) error {
	if m.dryRun {
		if _, err := schedule.Idle(ctx, st, name); err != nil {
			return fmt.Errorf("%w: see %s", err, m.command("schedule ls"))
		}
		return m.would(1, "ask for a tick of %s", name)
	}
	if err := schedule.Fire(ctx, st, name, by); err != nil {
		return fmt.Errorf("%w: see %s", err, m.command("schedule ls"))
	}
	if m.json() {
		return m.emitJSON("fired", name)
	}
	err := m.line("a tick of %s is asked for", name)
	m.next("schedule ls")
	return err
}
