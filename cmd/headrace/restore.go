package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/internal/editing"
)

func (m *Main) restoreCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "restore [ID... | - | R-N] --reason WHY", Short: "undo the discard of letters, or of a whole discard R-N",
		Long: `Makes discarded letters open again, and their messages dead, as before the discard. Steps that the discard
closed need a person again. A letter whose message came again meanwhile does not change. A process of
the consumer does it. - reads ids from stdin, one per line. Exit status 3 if some letters stay discarded, 5
if all do.`,
		Example: "  headrace dlq restore 187 188 --reason 'the wrong group'\n  headrace dlq restore R-43 --reason 'the wrong group'",
	}
	r := m.asks(c, editing.RestoreKind, "dlq "+editing.RestoreKind)
	var yes bool
	yesFlag(c, &yes)
	c.RunE = m.do(func(ctx context.Context, args []string) error {
		switch {
		case len(args) == 0:
			return usagef("restore: which letters? give ids, or a redrive R-N")
		case strings.TrimSpace(r.Reason) == "":
			return usagef("restore: say why with --reason")
		}
		r.By = operator(r.By)
		if len(args) == 1 && strings.HasPrefix(strings.ToUpper(args[0]), "R-") {
			if err := m.mayAsk(yes, false); err != nil {
				return err
			}
			return m.withRedrive(ctx, args[0], func(st openStore, j job.Redrive) error {
				r.Consumer = j.Consumer
				return m.restore(ctx, st, r, editing.Restore{RedriveID: j.ID}, j.Succeeded, yes)
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
			return m.restore(ctx, st, r, editing.Restore{IDs: ids}, n, yes)
		})
	})
	return c
}

// restore asks the user, has it done, and prints the answer. About n letters are chosen.
func (m *Main) restore(ctx context.Context, st openStore, r *asking, args editing.Restore, n int64, yes bool) error {
	if m.dryRun {
		return m.wouldRestore(ctx, st, r, args)
	}
	question := "restore " + plural(n, "letter", "letters")
	if args.RedriveID != 0 {
		question += " of " + job.Name(args.RedriveID) + "?"
	} else {
		question += " (" + listed(args.IDs) + ")?"
	}
	if name := job.Name(args.RedriveID); !yes && n > manyLetters {
		if err := m.confirmName(name, func(answer string) bool { return strings.EqualFold(answer, name) }, "%s", question); err != nil {
			return err
		}
	} else if err := m.confirm(yes, "%s", question); err != nil {
		return err
	}
	bar := m.progress("restored", n)
	a, err := carryOut(ctx, m, st, r, args, (&editing.Admin{Store: st.Store}).Restore, func(soFar editing.Restored) { bar.step(soFar.Done) })
	bar.end()
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
func (m *Main) wouldRestore(ctx context.Context, st openStore, r *asking, args editing.Restore) error {
	if err := m.reaches(ctx, st, r); err != nil {
		return err
	}
	a, err := (&editing.Admin{Store: st.Store}).Try(ctx, r.Request, args)
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
