package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/ledger/resolve"
)

func (m *Main) suspectCommand() *cobra.Command {
	begin := &cobra.Command{
		Use: "begin --until TIME", Short: "say that records of steps may be lost, after a restore", Args: noArgs,
		Long: `After you restore a backup, or promote a standby, the records of the last steps may be lost although the other
systems have carried them out. While this mode is on, a step without a record counts as a call without an answer, for
messages from before TIME and messages without a time. Retry then repeats the call with its key, Probe asks first, Park
waits for a person, Skip skips. Begin the mode before any process works on the database.

TIME is when the lost database last worked, or later. The time of a webhook that is sent again is when it arrives, so
with webhooks choose a later TIME. Running processes notice the mode with their next step.`,
		Example: "  headrace suspect begin --until 2026-01-31T12:00:00Z --reason 'restored from the backup of 11:00'",
	}
	until := begin.Flags().String("until", "", "the time, or how long ago it was: 2026-01-31T12:00:00Z, 90m")
	end := &cobra.Command{
		Use: "end", Short: "say that no records are missing any more", Args: noArgs,
		Long: `Ends the mode. Run it when the messages from before its TIME are done. Exit status 1 if the mode is off.`,
	}
	for _, c := range []*cobra.Command{begin, end} {
		by := c.Flags().String("by", "", "who does it, for the audit trail (default: your user name)")
		reason := c.Flags().String("reason", "", "why, for the audit trail")
		var yes bool
		yesFlag(c, &yes)
		m.writes(c)
		c.RunE = m.do(func(ctx context.Context, _ []string) error {
			if *reason == "" {
				return usagef("suspect %s: say why with --reason", c.Name())
			}
			at, err := parseTime("until", *until, time.Now())
			if err != nil {
				return err
			}
			if c == begin && at.IsZero() {
				return usagef("suspect begin: give the time with --until")
			}
			if err := m.mayAsk(yes, false); err != nil {
				return err
			}
			return m.withStore(ctx, func(st openStore) error {
				if c == begin {
					return m.beginSuspect(ctx, st, at, operator(*by), *reason, yes)
				}
				return m.endSuspect(ctx, st, operator(*by), *reason, yes)
			})
		})
	}
	return m.parent("suspect", "after a restore: have steps expect that their records are lost", begin, end)
}

func (m *Main) beginSuspect(ctx context.Context, st openStore, until time.Time, by, reason string, yes bool) error {
	if err := m.would(1, "suspect the steps of all messages from before %s", when(until)); err != nil {
		return err
	}
	if err := m.confirm(yes, "suspect the steps of all messages from before %s?", when(until)); err != nil {
		return err
	}
	if err := resolve.New(st).BeginSuspect(ctx, until, by, reason); err != nil {
		return err
	}
	mode, err := st.Operations().Suspect.Get(ctx)
	if err != nil {
		return err
	}
	if m.json() {
		return m.emitJSON("suspect", viewSuspect(mode))
	}
	err = m.line("suspect mode is on, for messages from before %s", when(mode.Until))
	m.next("status")
	return err
}

func (m *Main) endSuspect(ctx context.Context, st openStore, by, reason string, yes bool) error {
	mode, err := st.Operations().Suspect.Get(ctx)
	if err != nil {
		return err
	}
	if !mode.Until.IsZero() {
		if err := m.would(1, "end suspect mode, for messages from before %s", when(mode.Until)); err != nil {
			return err
		}
	} else if m.dryRun {
		m.say("suspect mode is off")
		return errFound
	}
	if err := m.confirm(yes, "end suspect mode: are all messages from before its time done?"); err != nil {
		return err
	}
	err = resolve.New(st).EndSuspect(ctx, by, reason)
	switch {
	case errors.Is(err, resolve.ErrNotFound):
		m.say("suspect mode is off")
		return errFound
	case err != nil:
		return err
	case m.json():
		return m.emitJSON("suspect", nil)
	}
	err = m.line("suspect mode is off")
	m.next("status")
	return err
}

// suspectView is suspect mode as JSON.
type suspectView struct {
	Until  time.Time `json:"until"`
	Since  time.Time `json:"since"`
	By     string    `json:"by"`
	Reason string    `json:"reason"`
}

// viewSuspect returns nil if the mode is off.
func viewSuspect(m ledger.SuspectMode) *suspectView {
	if m.Until.IsZero() {
		return nil
	}
	return &suspectView{m.Until, m.Since, m.By, m.Reason}
}

// warning is its line of the status.
func (v *suspectView) warning(m *Main) string {
	return fmt.Sprintf("suspect mode is on since %s, for messages from before %s, by %s: %s; when they are done: %s",
		when(v.Since), when(v.Until), short(text(v.By), 40), short(text(v.Reason), 60), m.command("suspect end"))
}
