package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/editing"
	"github.com/headrace/headrace/store/txn"
)

func (m *Main) restoreCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "restore [ID... | - | R-N] --reason WHY", Short: "take back the discard of letters, or of a whole redrive that was one",
		Long: `Makes discarded letters open again, and their messages dead, as they were before. Steps that the discard
has finished need a person again. A letter whose message came again meanwhile stays as it is. A process of
the consumer does it. - reads ids from stdin, one a line. Exit status 3 if some letters stay discarded, 5
if all do.`,
		Example: "  headrace dlq restore 187 188 --reason 'the wrong group'\n  headrace dlq restore R-43 --reason 'the wrong group'",
	}
	var r instance.Request
	var yes, direct bool
	c.Flags().BoolVar(&direct, "direct", false, "by this command, with an admin's login, where no process of the consumer runs")
	yesFlag(c, &yes)
	m.writes(c)
	c.Flags().StringVar(&r.By, "by", "", "who decides, for the audit trail (default: your user name)")
	c.Flags().StringVar(&r.Reason, "reason", "", "why, for the audit trail")
	c.RunE = m.do(func(ctx context.Context, args []string) error {
		switch {
		case len(args) == 0:
			return usagef("restore: which letters? give ids, or a redrive R-N")
		case strings.TrimSpace(r.Reason) == "":
			return usagef("restore: say why with --reason")
		}
		r.Kind, r.By = editing.RestoreKind, operator(r.By)
		if len(args) == 1 && strings.HasPrefix(strings.ToUpper(args[0]), "R-") {
			if err := m.mayAsk(yes, false); err != nil {
				return err
			}
			return m.withRedrive(ctx, args[0], func(st openStore, j job.Redrive) error {
				r.Consumer = j.Consumer
				return m.restore(ctx, st, r, editing.Restore{RedriveID: j.ID}, j.Succeeded, yes, direct)
			})
		}
		ids, err := m.askFor(args, yes)
		if err != nil {
			return err
		}
		if len(ids) > editing.MaxLetters {
			return usagef("restore: %d letters are more than %d", len(ids), editing.MaxLetters)
		}
		return m.withStore(ctx, func(st openStore) error {
			if r.Consumer, err = consumerOf(ctx, st, ids); err != nil {
				return err
			}
			n, err := redrive.New(st).Count(ctx, dlq.Filter{IDs: ids, State: dlq.Discarded})
			if err != nil {
				return err
			}
			return m.restore(ctx, st, r, editing.Restore{IDs: ids}, n, yes, direct)
		})
	})
	return c
}

// restore asks the user, and then a process unless direct, and prints its answer. About n letters are
// chosen.
func (m *Main) restore(ctx context.Context, st openStore, r instance.Request, args editing.Restore, n int64, yes, direct bool) error {
	if m.dryRun {
		return m.wouldRestore(ctx, st, r, args, direct)
	}
	question := "restore " + plural(n, "letter", "letters") + "?"
	if name := job.Name(args.RedriveID); !yes && n > manyLetters {
		if err := m.confirmName(name, func(answer string) bool { return strings.EqualFold(answer, name) }, "%s", question); err != nil {
			return err
		}
	} else if err := m.confirm(yes, "%s", question); err != nil {
		return err
	}
	bar := m.progress("restored", n)
	var a editing.Restored
	var err error
	if direct {
		a, err = (&editing.Desk{Store: st.Store}).Restore(ctx, r, args)
	} else {
		a, err = askLong(ctx, st, r, args, instance.Valid, func(soFar editing.Restored) { bar.step(soFar.Done) })
		err = m.namesDirect(err, "dlq "+editing.RestoreKind)
	}
	bar.end()
	if direct && txn.NotPermitted(err) {
		err = &roleError{"admin", err}
	}
	if err != nil {
		return err
	}
	if m.json() {
		err = m.emitJSON("", a)
	} else {
		err = m.printOutcome(redrive.Result{Done: a.Done, Skipped: a.Skipped, Skips: a.Skips}, "restored")
	}
	switch {
	case err != nil:
		return err
	case a.Skipped > 0:
		m.next("dlq show %d", a.Skips[0].LetterID)
		return errIncomplete
	case len(args.IDs) == 1:
		m.next("dlq show %d", args.IDs[0])
	default:
		m.next("dlq groups --consumer %s", r.Consumer)
	}
	return nil
}

// wouldRestore is would for a restore: it is refused as that would be.
func (m *Main) wouldRestore(ctx context.Context, st openStore, r instance.Request, args editing.Restore, direct bool) error {
	if !direct {
		if err := askerOf(st).Reaches(ctx, r.Consumer); err != nil {
			return m.namesDirect(err, "dlq "+editing.RestoreKind)
		}
	}
	a, err := (&editing.Desk{Store: st.Store}).Try(ctx, r, args)
	if err != nil {
		return err
	}
	for _, skip := range a.Skips {
		m.say("letter %d: %s", skip.LetterID, skip.Why)
	}
	err = m.would(int64(a.Done), "restore %s", plural(a.Done, "letter", "letters"))
	if a.Skipped > 0 && errors.Is(err, errDryRun) {
		return errIncomplete
	}
	return err
}
