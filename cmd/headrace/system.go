package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/internal/migrate"
	"github.com/headrace/headrace/ledger"
)

func (m *Main) systemCommand() *cobra.Command {
	ls := &cobra.Command{
		Use: "ls", Short: "list the systems that were paused, and by whom", Args: noArgs,
		RunE: m.do(func(ctx context.Context, _ []string) error {
			return m.withStore(ctx, func(st openStore) error {
				list, err := st.Operations().Systems.List(ctx)
				if err != nil {
					return err
				}
				if i := slices.IndexFunc(list, func(p ledger.SystemPause) bool { return p.Left > 0 }); i >= 0 {
					defer m.next("system resume %s", migrate.Quote(list[i].System))
				}
				return m.printSystems(list)
			})
		}),
	}
	return m.parent("system", "pause the calls of steps to a system, and resume them", ls, m.systemPauseCommand(), m.systemResumeCommand())
}

// systemView is the latest pause of a system as JSON.
type systemView struct {
	System  string    `json:"system"`
	Paused  bool      `json:"paused"`
	Until   time.Time `json:"until"`
	By      string    `json:"by,omitempty"` // empty for an answer 429
	Reason  string    `json:"reason,omitempty"`
	Changed time.Time `json:"changed_at"`
}

func systemViews(list []ledger.SystemPause) []systemView {
	views := make([]systemView, len(list))
	for i, p := range list {
		views[i] = systemView{p.System, p.Left > 0, p.Until, p.By, p.Reason, p.Changed}
	}
	return views
}

func (m *Main) printSystems(list []ledger.SystemPause) error {
	views, rows := systemViews(list), make([][]string, 0, len(list))
	for _, v := range views {
		state := "open"
		if v.Paused {
			state = "paused"
		}
		rows = append(rows, []string{short(v.System, 40), state, when(v.Until), short(text(v.By), 30), short(text(v.Reason), 60), m.when(v.Changed)})
	}
	return m.emit("systems", views, []string{"SYSTEM", "STATE", "UNTIL", "BY", "REASON", "CHANGED"}, rows)
}

// pausedSystems are the rows of headrace status.
func pausedSystems(views []systemView) (rows [][]string) {
	for _, v := range views {
		by := ""
		if v.By != "" {
			by = " by " + short(text(v.By), 30)
		}
		rows = append(rows, []string{short(v.System, 40), fmt.Sprintf("paused%s until %s: %s", by, when(v.Until), short(text(v.Reason), 40))})
	}
	return rows
}

func (m *Main) systemPauseCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "pause NAME", Short: "stop the steps of all processes from calling a system for a time", Args: one("NAME"),
		Long: `Within a second, all processes stop calling the system (the System of a step's declaration). Messages that need it
are postponed, without an attempt; other messages go on. A running call is not cut off. A pause that already lasts
longer does not change. After headrace system resume the messages go on within about a minute.

Exit status 5 if no step that is recorded calls a system of this name.`,
		Example: "  headrace system pause bank --for 1h --reason 'maintenance until 14:00'",
	}
	d := &age{least: time.Second, most: ledger.MaxPause}
	c.Flags().Var(d, "for", "for how long, as in 30m or 4h; at most 720h")
	by := c.Flags().String("by", "", "who pauses it (default: your user name)")
	reason := c.Flags().String("reason", "", "why, for people who find it paused")
	m.writes(c)
	anyway := c.Flags().Bool("anyway", false, "also if no step that is recorded calls it")
	c.RunE = m.do(func(ctx context.Context, args []string) error {
		if err := ledger.CheckSystem(args[0]); err != nil {
			return usagef("%v", err)
		}
		if d.d == 0 {
			return usagef("system pause: say for how long with --for")
		}
		return m.withStore(ctx, func(st openStore) error {
			if known, err := st.Operations().Systems.Known(ctx, args[0]); err != nil {
				return err
			} else if !known && !*anyway {
				return fmt.Errorf("%w: no step that is recorded calls a system %q: is the name the System of a step? If its first call is still to come, add --anyway", errRefused, args[0])
			}
			if m.dryRun {
				if p, err := systemPause(ctx, st, args[0]); err != nil {
					return err
				} else if p.Left >= d.d {
					return m.would(0, "leave %s as it is: paused until %s", args[0], when(p.Until))
				}
			}
			if err := m.would(1, "pause %s for %s", args[0], d.d); err != nil {
				return err
			}
			name, err := signed(ctx, st, *by)
			if err != nil {
				return err
			}
			changed, err := st.Operations().Systems.Pause(ctx, ledger.SystemPause{System: args[0], Left: d.d, By: name, Reason: *reason})
			if err != nil {
				return err
			}
			if !changed {
				m.say("it is paused for longer already: see %s", m.command("system ls"))
			}
			err = m.emit("", map[string]any{"system": args[0], "paused": changed}, nil, [][]string{{args[0] + " is paused"}})
			m.next("system resume %s", migrate.Quote(args[0]))
			return err
		})
	})
	return c
}

func (m *Main) systemResumeCommand() *cobra.Command {
	c := &cobra.Command{Use: "resume NAME", Short: "end the pause of a system", Args: one("NAME")}
	by := m.writes(c).Flags().String("by", "", "who resumes it (default: your user name)")
	c.RunE = m.do(func(ctx context.Context, args []string) error {
		return m.withStore(ctx, func(st openStore) error {
			if m.dryRun {
				if p, err := systemPause(ctx, st, args[0]); err != nil {
					return err
				} else if p.Left <= 0 {
					return m.systemOpen()
				}
			}
			if err := m.would(1, "end the pause of %s", args[0]); err != nil {
				return err
			}
			name, err := signed(ctx, st, *by)
			if err != nil {
				return err
			}
			was, err := st.Operations().Systems.Resume(ctx, args[0], name)
			if err != nil {
				return err
			}
			if !was {
				return m.systemOpen()
			}
			err = m.emit("", map[string]any{"system": args[0], "resumed": true}, nil, [][]string{{args[0] + " is resumed"}})
			m.next("system ls")
			return err
		})
	})
	return c
}

// systemOpen is the end of a resume of a system that is not paused.
func (m *Main) systemOpen() error {
	m.say("it was not paused")
	return errFound
}

// systemPause returns the latest pause of a system; that without a Left is over.
func systemPause(ctx context.Context, st openStore, name string) (ledger.SystemPause, error) {
	list, err := st.Operations().Systems.List(ctx)
	for _, p := range list {
		if p.System == name {
			return p, err
		}
	}
	return ledger.SystemPause{}, err
}
