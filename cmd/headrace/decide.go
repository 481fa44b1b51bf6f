package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/internal/inspect"
	"github.com/headrace/headrace/store/txn"
)

// decideFlags are the common flags of redrive and discard.
type decideFlags struct {
	filter *filterFlags
	all    bool
	direct bool
	yes    bool
	limit  limit
	by     string
	reason string
	newKey string
	letter limit // see named
	// openCalls discards letters although the outcome of a call is unknown.
	openCalls bool
}

func (m *Main) addDecide(c *cobra.Command) *decideFlags {
	d := &decideFlags{filter: addFilter(c), limit: limit{most: 1 << 31}}
	c.Flags().BoolVar(&d.all, "all", false, "every open letter")
	yesFlag(c, &d.yes)
	m.writes(c)
	c.Flags().BoolVar(&d.direct, "direct", false, "by this command, with an admin's login, where no process of the consumer runs: without stages, and not for letters without a key")
	c.Flags().Var(&d.limit, "limit", "at most so many, oldest first; with --direct")
	addLetter(c, &d.letter)
	c.Flags().StringVar(&d.by, "by", "", "who decides, for the audit trail (default: your user name)")
	c.Flags().StringVar(&d.reason, "reason", "", "why, for the audit trail")
	return d
}

func (m *Main) redriveCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "redrive [ID... | - | GROUP]",
		Short: "send the messages of open letters to their handlers again",
		Long: `Asks the processes of the consumer to send the messages of open letters to their handlers again, with a
new budget of attempts. Each letter is redriven once, even if several people do it at the same time.
A message that was applied meanwhile is not applied again.

Up to 100 letters named by their ids are sent at once. The command waits 5 s and prints the outcome of
each. A GROUP, a filter, --all, or more ids are redriven in stages and watched, as by headrace redrive plan
and headrace redrive apply. - reads ids from stdin, one per line.

A conflict needs --new-key, which applies it as a message of its own. For a letter under a stand-in key
the handler computes the message's own key again; use --new-key if it finds none. --new-key takes one id
and needs an admin. Under a new key each step is called again: the command first lists those under the old key.

Exit status 1 if none of the chosen letters is open, 3 if some are not or did not succeed, 5 if it is
refused (for example because no process runs), 6 if the redrive has paused.`,
		Example: "  headrace dlq redrive 17 18 --reason 'fixed in 1.4.2'\n  headrace dlq redrive 3f2a --reason 'fixed in 1.4.2'\n  headrace dlq ls -o name | headrace dlq redrive - --yes --reason again",
	}
	d := m.addDecide(c)
	c.Flags().StringVar(&d.newKey, "new-key", "", "handle one conflict, or one letter in which its handler finds no key, under this key")
	c.RunE = m.do(func(ctx context.Context, args []string) error {
		if d.newKey != "" {
			return m.redriveNewKey(ctx, d, args)
		}
		if d.direct {
			return m.decide(ctx, d, args, "redrive", "redriven", (*redrive.Admin).Redrive)
		}
		return m.byJob(ctx, d, args, job.Redriving)
	})
	return c
}

func (m *Main) discardCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "discard [ID... | - | GROUP] --reason WHY",
		Short: "give up the messages of open letters",
		Long: `Asks a process of the consumer to discard open letters. Their messages are not handled any more, even if
they are delivered again. You can read the letters until retention removes them. A letter with a step
whose call may have been carried out is skipped; --open-calls discards it too, and closes the step.

Choose letters by ids, by a GROUP, by a filter, or by --all; - reads ids from stdin, one per line.
Exit status 1 if none of the chosen letters is open, 3 if some are not, 5 if it is refused (for example
because no process runs).`,
	}
	d := m.addDecide(c)
	addOpenCalls(c, &d.openCalls)
	c.RunE = m.do(func(ctx context.Context, args []string) error {
		if d.reason == "" {
			return usagef("discard: say why with --reason")
		}
		if d.direct {
			return m.decide(ctx, d, args, "discard", "discarded", (*redrive.Admin).Discard)
		}
		return m.byJob(ctx, d, args, job.Discarding)
	})
	return c
}

// addOpenCalls adds the flag of what discards.
func addOpenCalls(c *cobra.Command, to *bool) {
	c.Flags().BoolVar(to, "open-calls", false, "discard also letters with a step whose call may have been carried out (headrace steps KEY)")
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
		if err := settleNamed(ctx, st, args, &f); err != nil {
			return err
		}
		total, err := m.countChosen(ctx, admin, f)
		if err != nil {
			return err
		}
		if total == 0 { // there is nothing to ask about
			return m.report(ctx, st, d, f, redrive.Result{}, participle, nil)
		}
		if d.limit.n > 0 {
			total = min(total, int64(d.limit.n))
		}
		if err := m.wouldDecide(f, verb, total); err != nil {
			return err
		}
		if err := m.confirmLetters(d, f, verb, total); err != nil {
			return err
		}
		work, stop := m.Interruptible(ctx)
		defer stop()
		bar := m.progress(participle, total)
		done, err := do(admin, work, redrive.Request{
			Filter: f, All: d.all, Limit: d.limit.n, By: d.by, Reason: d.reason, OpenCalls: d.openCalls, Progress: bar.step,
		})
		bar.end()
		if txn.NotPermitted(err) {
			err = &roleError{"admin", err}
		}
		if err != nil && work.Err() != nil {
			err = fmt.Errorf("%w after %s; the same command goes on with the rest", errInterrupted, plural(done.Done, "letter", "letters"))
		}
		left, failed := int64(0), error(nil)
		if err == nil && d.limit.n > 0 {
			left, failed = admin.Count(ctx, f)
		}
		if left > 0 {
			m.say("%s left: the same command goes on with the rest", plural(left, "open letter is", "open letters are"))
		}
		if err := m.report(ctx, st, d, f, done, participle, err); err != nil || left == 0 {
			return errors.Join(err, failed)
		}
		return errIncomplete
	})
}

// countChosen returns how many letters f chooses. But for a dry run ids are not looked up: the decision
// says what became of each.
func (m *Main) countChosen(ctx context.Context, admin *redrive.Admin, f dlq.Filter) (int64, error) {
	if f.IDs != nil && !m.dryRun {
		return int64(len(f.IDs)), nil
	}
	return admin.Count(ctx, f)
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
	rows, err := inspect.CalledAgain(ctx, st, &l)
	if err != nil {
		return err
	}
	if len(rows) > 0 {
		m.say("warning: under a new key each step is called again. Under the key %s there were:", l.Delivery.Key)
	}
	for _, r := range rows {
		m.say("  step %s of %s: %s, external id %s", r.Step, r.System, r.State, text(r.ExternalID))
	}
	return nil
}

func (m *Main) wouldDecide(f dlq.Filter, verb string, total int64) error {
	return m.would(total, "%s %s%s", verb, plural(total, "letter", "letters"), describe(f))
}

// manyLetters is how many letters are decided on with a yes.
const manyLetters = 1000

// confirmLetters asks the user. For many letters, and to discard a group, it asks for the name to be
// typed: of the group or of the consumer.
func (m *Main) confirmLetters(d *decideFlags, f dlq.Filter, verb string, total int64) error {
	question := fmt.Sprintf("%s %s%s?", verb, plural(total, "letter", "letters"), describe(f))
	if d.openCalls {
		question += " No person is asked about their open calls any more."
	}
	name := cmp.Or(f.ErrorFingerprint, f.Consumer, "all")
	switch {
	case d.yes:
		return nil
	case total <= manyLetters && (verb != "discard" || f.ErrorFingerprint == ""):
		return m.confirm(false, "%s", question)
	case f.ErrorFingerprint != "":
		return m.confirmName(name, func(answer string) bool {
			return len(answer) >= inspect.LeastDigits && strings.HasPrefix(name, answer)
		}, "%s", question)
	}
	return m.confirmName(name, func(answer string) bool { return answer == name }, "%s", question)
}

// choose returns the filter of the chosen letters. By default it chooses none.
func (m *Main) choose(d *decideFlags, args []string, verb string) (dlq.Filter, error) {
	if isGroup(args) || len(args) == 1 && inspect.Digits(args[0]) && d.ofOwner() { // ids take no filter
		if d.filter.filter.ErrorFingerprint != "" {
			return dlq.Filter{}, usagef("%s: a GROUP or --group, not both", verb)
		}
		if err := d.filter.set.Set("group", args[0]); err != nil {
			return dlq.Filter{}, err
		}
		args = nil
	}
	if d.letter.n > 0 {
		args = append(args, d.letter.String())
	}
	filtered := d.filter.given()
	switch {
	case d.limit.n > 0 && !d.direct:
		return dlq.Filter{}, usagef("%s: --limit is for --direct; otherwise letters are sent in stages", verb)
	case len(args) > 0 && (filtered || d.all):
		return dlq.Filter{}, usagef("%s: ids, or a filter, or --all: only one of them", verb)
	case len(args) == 0 && !filtered && !d.all:
		return dlq.Filter{}, usagef("%s: which letters? give ids, a filter, or --all", verb)
	}
	d.by = operator(d.by)
	f, err := d.filter.parse(time.Now())
	if err != nil {
		return dlq.Filter{}, err
	}
	f.IDs, err = m.askFor(args, d.yes)
	return f, err
}

// ofOwner reports whether a flag chooses letters of a consumer or of a handler.
func (d *decideFlags) ofOwner() bool {
	return d.filter.set.Changed("consumer") || d.filter.set.Changed("handler")
}

// settleNamed makes the filter choose a group where the only argument names one.
func settleNamed(ctx context.Context, st openStore, args []string, f *dlq.Filter) error {
	if f.IDs != nil {
		group, err := groupNamed(ctx, st, args, dlq.Filter{})
		if err != nil {
			return err
		}
		if group != "" {
			f.IDs, f.ErrorFingerprint = nil, group
		}
	}
	return settleGroup(ctx, st, f)
}

// userName returns the name of the user who runs the command.
func userName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "unknown user"
}
