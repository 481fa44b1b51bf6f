package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/prune"
	"github.com/headrace/headrace/retry"
)

// pruneFlags say what to prune.
type pruneFlags struct {
	consumer string
	window   age
	source   age
	retries  age
	closed   age
	open     age
	yes      bool
}

func (m *Main) pruneCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "prune --source-retention AGE",
		Short: "remove old messages and closed letters",
		Long: `Removes the records of messages that are done or discarded, and letters that were closed. The
window must be longer than the time for which the source can deliver a message again, the longest time of
its retries, and the age of closed letters together; a shorter one is an error. By default it is
computed. A message that comes back after the window is applied again.

Waiting messages, dead messages and their open letters are kept; --open-letters removes open letters too.
When an open letter is removed, an older letter of its message may become due: the next run removes it.
Consumers that know their source's retention prune by themselves. Use this command for the others, or on
your own schedule. You may stop it at any time, and run it while consumers run.`,
		Example: "  headrace prune --source-retention 7d --dry-run\n  headrace prune --source-retention 7d --retry-span 6h --window 30d",
		Args:    noArgs,
	}
	// The default policy, with the default timeout and the grace of a consumer.
	f := &pruneFlags{retries: age{d: retry.Policy{}.Span(35 * time.Second)}, closed: age{d: inbox.DefaultDeadLetters}}
	flags := c.Flags()
	flags.StringVar(&f.consumer, "consumer", "", "only rows of this consumer")
	flags.Var(&f.window, "window", "how long the record of a message is kept (default: computed)")
	flags.Var(&f.source, "source-retention", "for how long the source can deliver a message again")
	flags.Var(&f.retries, "retry-span", "the longest time for which a message is retried; the default is that of the default policy")
	flags.Var(&f.closed, "dead-letters", "how long closed letters are kept")
	flags.Var(&f.open, "open-letters", "remove open letters after this time, with their messages (default: never)")
	m.writes(c)
	yesFlag(c, &f.yes)
	c.RunE = m.do(func(ctx context.Context, _ []string) error {
		if c.Flags().Changed("consumer") && f.consumer == "" {
			return usagef("--consumer is empty")
		}
		plan, err := f.plan()
		if err != nil {
			return err
		}
		if f.open.d > 0 {
			if err := m.mayAsk(f.yes, false); err != nil {
				return err
			}
		}
		return m.withStore(ctx, func(st openStore) error {
			if err := knownConsumer(ctx, st, f.consumer, ""); err != nil {
				return err
			}
			return m.prune(ctx, st.Operations().Pruner, f, plan)
		})
	})
	return c
}

// plan computes and checks the plan as a consumer does.
func (f *pruneFlags) plan() (inbox.Plan, error) {
	r := inbox.Retention{Window: f.window.d, SourceRetention: f.source.d, DeadLetters: f.closed.d, OpenLetters: f.open.d}
	plan, err := r.Plan(f.retries.d)
	if errors.Is(err, inbox.ErrSourceRetention) {
		return plan, usagef("prune: give --source-retention: for how long the source can deliver a message again")
	}
	if err != nil {
		return plan, usagef("prune: %v", err)
	}
	return plan, nil
}

// prunedView is the result as JSON.
type prunedView struct {
	Messages int64  `json:"messages"`
	Letters  int64  `json:"dead_letters"`
	DryRun   bool   `json:"dry_run"`
	Window   string `json:"window"`
}

func (m *Main) prune(ctx context.Context, p inbox.Pruner, f *pruneFlags, plan inbox.Plan) error {
	view := prunedView{DryRun: m.dryRun, Window: plan.Window.String()}
	var found inbox.Pruned
	var err error
	if asks := plan.OpenLetters > 0 && !f.yes; m.dryRun || asks || m.Terminal(m.Stderr) {
		if found, err = p.Count(ctx, inbox.PruneRequest{Plan: plan, Consumer: f.consumer}); err != nil {
			return fmt.Errorf("prune: %w", err)
		}
	}
	if m.dryRun {
		view.Messages, view.Letters = found.Messages, found.Letters
		return m.emit("", view, nil, [][]string{{fmt.Sprintf("%s would be removed (window %s)", amount(found), encode.Minutes(plan.Window))}})
	}
	if plan.OpenLetters > 0 {
		if err := m.confirm(f.yes, "remove %s, open ones among them?", amount(found)); err != nil {
			return err
		}
	}
	work, stop := m.Interruptible(ctx)
	defer stop()
	bar := m.progress("removed", found.Messages+found.Letters)
	done, err := prune.Round(work, p, plan, f.consumer, "", prune.Options{
		Rest: 1, Progress: func(done inbox.Pruned) { bar.step(int(done.Messages + done.Letters)) },
	})
	bar.end()
	view.Messages, view.Letters = done.Messages, done.Letters
	printed := m.emit("", view, nil, [][]string{{fmt.Sprintf("%s removed (window %s)", amount(done), encode.Minutes(plan.Window))}})
	switch {
	case err != nil && work.Err() != nil:
		return fmt.Errorf("%w after %s; the same command goes on with the rest", errInterrupted, amount(done))
	case err != nil && done.Messages+done.Letters > 0:
		m.say("ended early: %v", err)
		return errIncomplete
	case err != nil:
		return err
	}
	return printed
}

// amount returns in words how much was removed.
func amount(p inbox.Pruned) string {
	return plural(p.Messages, "message", "messages") + " and " + plural(p.Letters, "letter", "letters")
}
