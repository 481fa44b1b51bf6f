package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/internal/migrate"
	"github.com/headrace/headrace/ledger"
)

// decideFlags are the common flags of redrive and discard.
type decideFlags struct {
	filter *filterFlags
	all    bool
	yes    bool
	dryRun bool
	limit  limit
	by     string
	reason string
	newKey string
}

func addDecide(c *cobra.Command) *decideFlags {
	d := &decideFlags{filter: addFilter(c), limit: limit{most: 1 << 31}}
	c.Flags().BoolVar(&d.all, "all", false, "every open letter")
	c.Flags().BoolVarP(&d.yes, "yes", "y", false, "do not ask")
	c.Flags().BoolVar(&d.dryRun, "dry-run", false, "only say how many letters are chosen")
	c.Flags().Var(&d.limit, "limit", "at most so many, oldest first")
	c.Flags().StringVar(&d.by, "by", "", "who decides, for the audit trail (default: your user name)")
	c.Flags().StringVar(&d.reason, "reason", "", "why, for the audit trail")
	return d
}

func (m *Main) redriveCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "redrive [ID... | - | GROUP]",
		Short: "send the messages of open letters to their handlers again",
		Long: `Puts the messages of open letters into the backlog of their handlers, with a new budget of
attempts. Each letter is redriven once, also if several people do it at the same time; a message
that was applied meanwhile is not applied again. If it is stopped, the same command continues
with the rest.

A GROUP is redriven in stages by the processes of its consumer, and watched: it is headrace redrive
plan and headrace redrive apply in one.

Letters are chosen by ids, by a filter, or by --all; - reads ids from stdin, one a line.
A conflict needs --new-key. The handler of a letter under a stand-in key is asked for the
message's own key again; --new-key gives one. Under a new key each step is called again: those under
the old key are listed before. Exit status 1 if none of the chosen letters is open, 3 if some are
not, or if --limit leaves some, 5 if the steps of one need a person and none is redriven.`,
		Example: "  headrace dlq redrive 17 18\n  headrace dlq redrive --group 3f2a9c0d1e5b7788 --reason 'fixed in 1.4.2'\n  headrace dlq ls -o json | jq '.dead_letters[].id' | headrace dlq redrive - --yes",
	}
	d := addDecide(c)
	c.Flags().StringVar(&d.newKey, "new-key", "", "handle one conflict, or one letter under a stand-in key, under this key")
	c.RunE = m.do(func(ctx context.Context, args []string) error {
		if len(args) == 1 && namesGroup(args[0]) {
			return m.redriveGroup(ctx, d, args[0])
		}
		return m.decide(ctx, d, args, "redrive", "redriven", (*redrive.Admin).Redrive)
	})
	return c
}

func (m *Main) discardCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "discard [ID... | -] --reason WHY",
		Short: "give up the messages of open letters",
		Long: `Discards open letters: their messages are not handled any more, even if they are delivered
again. The letters stay readable until retention removes them.

Letters are chosen by ids, by a filter, or by --all; - reads ids from stdin, one a line. Exit
status 1 if none of the chosen letters is open, 3 if some are not, or if --limit leaves some.`,
	}
	d := addDecide(c)
	c.RunE = m.do(func(ctx context.Context, args []string) error {
		if d.reason == "" {
			if err := checkIDs(args); err != nil {
				return err
			}
			return usagef("discard: say why with --reason")
		}
		return m.decide(ctx, d, args, "discard", "discarded", (*redrive.Admin).Discard)
	})
	return c
}

// outcome is the result of a decision as JSON.
type outcome struct {
	Redriven  *int           `json:"redriven,omitempty"`
	Discarded *int           `json:"discarded,omitempty"`
	Skipped   int            `json:"skipped"`
	Skips     []redrive.Skip `json:"skips,omitempty"`
}

type decision func(admin *redrive.Admin, ctx context.Context, r redrive.Request) (redrive.Result, error)

// decide chooses letters, asks the user, makes the decision, and prints the result.
func (m *Main) decide(ctx context.Context, d *decideFlags, args []string, verb, participle string, do decision) error {
	f, err := m.choose(d, args, verb)
	if err != nil {
		return err
	}
	return m.withStore(ctx, func(st openStore) error {
		admin := redrive.New(st)
		if err := wholeGroup(ctx, st, &f); err != nil {
			return err
		}
		total := int64(len(f.IDs))
		if f.IDs == nil {
			if total, err = admin.Count(ctx, f); err != nil {
				return err
			}
		}
		if total == 0 { // there is nothing to ask about
			return m.report(d, f, redrive.Result{}, participle, nil)
		}
		if d.limit.n > 0 {
			total = min(total, int64(d.limit.n))
		}
		if d.newKey != "" {
			if err := m.warnOfSteps(ctx, st, f.IDs[0]); err != nil {
				return err
			}
		}
		if d.dryRun {
			return m.emit("", dryRunView{true, total}, nil, [][]string{{fmt.Sprintf("would %s %s%s", verb, plural(total, "letter", "letters"), describe(f))}})
		}
		if err := m.confirmLetters(d, f, verb, total); err != nil {
			return err
		}
		work, stop := m.Interruptible(ctx)
		defer stop()
		bar := m.progress(participle, total)
		done, err := do(admin, work, redrive.Request{
			Filter: f, All: d.all, Limit: d.limit.n, By: d.by, Reason: d.reason, NewKey: d.newKey, Progress: bar.step,
		})
		bar.end()
		if err != nil && work.Err() != nil {
			err = fmt.Errorf("%w after %s; the same command goes on with the rest", errInterrupted, plural(done.Done, "letter", "letters"))
		}
		if err := m.report(d, f, done, participle, err); err != nil || d.limit.n == 0 {
			return err
		}
		left, err := admin.Count(ctx, f)
		if err != nil || left == 0 {
			return err
		}
		m.say("%s left: the same command goes on with the rest", plural(left, "open letter is", "open letters are"))
		return errIncomplete
	})
}

// warnOfSteps lists what a redrive of the letter under a new key calls again.
func (m *Main) warnOfSteps(ctx context.Context, st openStore, letter int64) error {
	l, err := st.Letters().Get(ctx, letter)
	if errors.Is(err, dlq.ErrNotFound) {
		return nil // the redrive says so
	}
	if err != nil {
		return err
	}
	rows, err := st.Operations().Steps.List(ctx, l.ID())
	if err != nil {
		return err
	}
	rows = slices.DeleteFunc(rows, func(r ledger.Row) bool { return r.System == "" || r.State == ledger.Failed })
	if len(rows) > 0 {
		m.say("warning: under a new key each step is called again. Under the key %s there were:", l.Delivery.Key)
	}
	for _, r := range rows {
		m.say("  step %s of %s: %s, external id %s", r.Step, r.System, r.State, text(r.ExternalID))
	}
	return nil
}

// dryRunView is how many letters are chosen, as JSON.
type dryRunView struct {
	DryRun  bool  `json:"dry_run"`
	Letters int64 `json:"chosen"`
}

// manyLetters is how many letters are decided on with a yes.
const manyLetters = 1000

// confirmLetters asks the user. For many letters, to discard a group, and for a new key it asks
// for the name to be typed: of the group, of the consumer, or the key.
func (m *Main) confirmLetters(d *decideFlags, f dlq.Filter, verb string, total int64) error {
	question := fmt.Sprintf("%s %s%s?", verb, plural(total, "letter", "letters"), describe(f))
	name := cmp.Or(d.newKey, f.ErrorFingerprint, f.Consumer, "all")
	switch {
	case d.yes:
		return nil
	case total <= manyLetters && d.newKey == "" && (verb != "discard" || f.ErrorFingerprint == ""):
		return m.confirm(false, "%s", question)
	case d.newKey == "" && f.ErrorFingerprint != "":
		return m.confirmName(name, func(answer string) bool {
			return len(answer) >= leastDigits && strings.HasPrefix(name, answer)
		}, "%s", question)
	}
	return m.confirmName(name, func(answer string) bool { return answer == name }, "%s", question)
}

// choose returns the filter of the chosen letters. By default it chooses none.
func (m *Main) choose(d *decideFlags, args []string, verb string) (dlq.Filter, error) {
	filtered, err := d.filter.given()
	if err != nil {
		return dlq.Filter{}, err
	}
	switch {
	case len(args) > 0 && (filtered || d.all):
		return dlq.Filter{}, usagef("%s: ids, or a filter, or --all: only one of them", verb)
	case len(args) == 0 && !filtered && !d.all:
		return dlq.Filter{}, usagef("%s: which letters? give ids, a filter, or --all", verb)
	case d.newKey != "" && (len(args) != 1 || args[0] == "-"):
		return dlq.Filter{}, usagef("%s: --new-key is for one id", verb)
	}
	d.by = operator(d.by)
	f, err := d.filter.parse(time.Now())
	if err != nil {
		return dlq.Filter{}, err
	}
	f.IDs, err = m.askFor(args, d.yes || d.dryRun)
	return f, err
}

// userName returns the name of the user who runs the command.
func userName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "unknown user"
}

// report prints the result, also if it ended early. It is no success if chosen letters were
// not found; with --all, finding none is a success.
func (m *Main) report(d *decideFlags, f dlq.Filter, done redrive.Result, participle string, failed error) error {
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
	case done.Done == 0 && !d.all:
		m.say("nothing was done: no open letter matches%s", describe(f))
		return errFound
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
