package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/inspect"
	"github.com/headrace/headrace/internal/redriving"
)

func (m *Main) redrivesCommand() *cobra.Command {
	return m.parent("redrive", "redrive many letters in stages, by the processes of their consumer",
		m.redrivePlanCommand(), m.redriveApplyCommand(), m.redriveListCommand(), m.redriveShowCommand(), m.redriveLettersCommand(), m.redriveWatchCommand(),
		m.redrivePauseCommand(), m.redriveResumeCommand(), m.redriveCancelCommand())
}

// stopWait is how long a command waits for the answer to a request that stays.
const stopWait = 10 * time.Second

func (m *Main) redrivePlanCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "plan [GROUP]", Short: "list the letters of a redrive, and check what it needs", Args: mostOne("GROUP"),
		Long: `Lists open letters by id, with what you should know before you redrive them. Nothing is redriven yet.
The list never changes: later letters are not on it. Any operator may apply the plan within an hour, or
within --valid.

GROUP is an error fingerprint, or its first digits, at least 4. A process of the consumer makes the
plan. Applied, the redrive sends one letter, then 10, 100, and the rest, and pauses when letters fail
again.`,
		Example: "  headrace redrive plan 3f2a\n  headrace redrive plan --consumer billing --class exhausted",
	}
	filter := addFilter(c)
	o := job.DefaultOptions()
	by := c.Flags().String("by", "", "who plans it (default: your user name)")
	discard := c.Flags().Bool("discard", false, "plan to discard the letters")
	c.Flags().Var(sizes{&o.Stages, 1_000_000}, "stages", "how many letters each stage but the last has")
	running := &limit{n: o.MaxRunning, most: job.MostRunning}
	c.Flags().Var(running, "window", "at most so many letters are under way")
	c.Flags().Var(bounded{&o.Rate, job.MostRate}, "rate", "at most so many letters a second")
	c.Flags().Var(bounded{&o.PauseAt, 100}, "pause-at", "pause when more than so many of the last 100 letters of the last stage fail again or retry")
	slow := &age{o.StageTimeout, time.Second, 24 * time.Hour}
	c.Flags().Var(slow, "stage-timeout", "in a stage before the last, pause when a letter retries for so long")
	valid := &age{job.Valid, redriving.LeastValid, redriving.MostValid}
	c.Flags().Var(valid, "valid", "for how long it may be applied")
	c.RunE = m.do(func(ctx context.Context, args []string) error {
		if len(args) > 0 {
			if filter.filter.ErrorFingerprint != "" {
				return usagef("redrive plan: a GROUP or --group, not both")
			}
			if err := c.Flags().Set("group", args[0]); err != nil {
				return err
			}
		}
		if !filter.given() {
			return usagef("redrive plan: which letters? give a GROUP or a filter")
		}
		f, err := filter.parse(time.Now())
		if err != nil {
			return err
		}
		o.MaxRunning, o.StageTimeout = running.n, slow.d
		p := redriving.Plan{Kind: job.Redriving, Filter: f, Options: o, Valid: valid.d}
		if *discard {
			p.Kind = job.Discarding
		}
		return m.withStore(ctx, func(st openStore) error {
			if err := settleGroup(ctx, st, &p.Filter); err != nil {
				return err
			}
			return m.planAlone(ctx, st, p, operator(*by))
		})
	})
	return c
}

// planAlone makes a plan that nothing applies yet, and shows it.
func (m *Main) planAlone(ctx context.Context, st openStore, p redriving.Plan, by string) error {
	id, err := m.plan(ctx, st, p, by)
	if err != nil {
		return err
	}
	r, err := st.Operations().Redrives.Get(ctx, id)
	if err != nil {
		return err
	}
	return m.showPlanAlone(ctx, st, r)
}

// plan asks the consumer of the letters for a plan, and returns its id.
func (m *Main) plan(ctx context.Context, st openStore, p redriving.Plan, by string) (int64, error) {
	var err error
	if p.Filter.Consumer, err = m.oneConsumer(ctx, st, p.Filter); err != nil {
		return 0, err
	}
	p.Says = inspect.Words(p.Filter)
	r := instance.Request{Kind: redriving.KindPlan, Consumer: p.Filter.Consumer, By: by}
	answer, err := ask[redriving.Answer](ctx, m, st, r, p, instance.Valid)
	return answer.ID, err
}

// oneConsumer returns the consumer of the open letters of f.
func (m *Main) oneConsumer(ctx context.Context, st openStore, f dlq.Filter) (string, error) {
	names, err := consumersOf(ctx, st, f)
	switch {
	case err != nil:
		return "", err
	case len(names) == 0:
		return "", m.nothing(ctx, st, f, "nothing was done: no open letter matches")
	case len(names) > 1:
		return "", usagef("these are letters of several consumers, choose with --consumer: %s", strings.Join(names, ", "))
	}
	return names[0], nil
}

// consumersOf returns the consumers that have open letters of f. Cancelled ones are in no group.
func consumersOf(ctx context.Context, st openStore, f dlq.Filter) ([]string, error) {
	admin := redrive.New(st)
	groups, err := admin.Groups(ctx, f)
	if err != nil {
		return nil, err
	}
	if f.WholeGroups() {
		f.Class = dlq.Cancelled
		n, err := admin.Count(ctx, f)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			more, err := admin.Groups(ctx, f)
			if err != nil {
				return nil, err
			}
			groups = append(groups, more...)
		}
	}
	consumers := make(map[string]bool)
	for _, g := range groups {
		consumers[g.Consumer] = true
	}
	return slices.Sorted(maps.Keys(consumers)), nil
}

// parseRedrive parses the name of a redrive: R-42, or 42.
func parseRedrive(s string) (int64, error) {
	number := strings.TrimPrefix(strings.TrimPrefix(s, "R-"), "r-")
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil || id < 1 {
		return 0, usagef("%q is no redrive: it is named like R-42", short(s, 40))
	}
	return id, nil
}

// withRedrive opens the database and reads a redrive.
func (m *Main) withRedrive(ctx context.Context, name string, f func(st openStore, r job.Redrive) error) error {
	id, err := parseRedrive(name)
	if err != nil {
		return err
	}
	return m.withStore(ctx, func(st openStore) error {
		r, err := st.Operations().Redrives.Get(ctx, id)
		if err != nil {
			return err
		}
		return f(st, r)
	})
}

func (m *Main) redriveApplyCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "apply R-N --reason WHY", Short: "start a planned redrive, and watch it", Args: one("redrive"),
		Long: `Starts a planned redrive. It is refused if the plan has expired, if other builds run by now, or if the fix
does not work. The processes of the consumer do the redrive. The command only watches it, and you may
end the command. Exit status 3 if letters failed again or were skipped,
5 if it is refused, 6 if it has paused by itself.`,
		Example: "  headrace redrive apply R-42 --reason 'fixed in v1.8.1'",
	}
	var a redriving.Apply
	by := c.Flags().String("by", "", "who applies it (default: your user name)")
	reason := c.Flags().String("reason", "", "why, for the audit trail")
	m.writes(c)
	detach := c.Flags().Bool("detach", false, "do not watch it")
	wait := &age{most: 24 * time.Hour}
	c.Flags().Var(wait, "wait", "wait so long for a rollout to end")
	c.Flags().BoolVar(&a.AcceptBuild, "accept-build", false, "go on although other builds run than when it was planned")
	addOpenCalls(c, &a.OpenCalls)
	c.Flags().BoolVar(&a.Anyway, "anyway", false, "go on although the messages would only wait")
	c.RunE = m.do(func(ctx context.Context, args []string) error {
		if strings.TrimSpace(*reason) == "" {
			return usagef("redrive apply: say why with --reason")
		}
		return m.withRedrive(ctx, args[0], func(st openStore, r job.Redrive) error {
			a.ID = r.ID
			if m.dryRun {
				planned := r // an applied one is in its first stage
				r, err := m.tries(st, r).Apply(ctx, a, operator(*by), *reason)
				if err != nil {
					return m.nextRefused(ctx, st, a.ID, err)
				}
				how := ""
				if r.Kind == job.Redriving {
					how = ", " + stagesOf(planned)
				}
				return m.would(planned.Queued(), "%s %s of %s%s", r.Kind, plural(planned.Queued(), "letter", "letters"), r.Consumer, how)
			}
			if err := m.apply(ctx, st, r, a, operator(*by), *reason, wait.d); err != nil {
				return m.nextRefused(ctx, st, r.ID, err)
			}
			if *detach {
				return m.showRedrive(ctx, st, r.ID)
			}
			return m.watch(ctx, st, r.ID)
		})
	})
	return c
}

// apply asks for a plan to be applied, again while a rollout lasts that the person waits for.
func (m *Main) apply(ctx context.Context, st openStore, r job.Redrive, a redriving.Apply, by, reason string, wait time.Duration) error {
	request := instance.Request{Kind: redriving.KindApply, Consumer: r.Consumer, By: by, Reason: reason}
	for end := time.Now().Add(wait); ; {
		_, err := ask[redriving.Answer](ctx, m, st, request, a, instance.Valid)
		if errors.Is(err, errInterrupted) {
			return fmt.Errorf("%w, and %s", err, m.command("redrive show "+job.Name(r.ID)))
		}
		if !errors.Is(err, instance.ErrRefused) || !time.Now().Before(end) {
			return err
		}
		builds, err2 := inspect.Running(ctx, st, r.Consumer)
		if err2 != nil || len(builds) == 1 && slices.Equal(slices.Sorted(maps.Keys(builds)), r.Builds) {
			return err // it is no rollout that it waits for
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(m.ProgressEvery):
		}
	}
}

// tries does to a redrive what a process of its consumer would, without writing anything.
func (m *Main) tries(st openStore, r job.Redrive) *redriving.Engine {
	return &redriving.Engine{Store: st, Consumer: r.Consumer, DryRun: true}
}

// wouldStop is would for a redrive whose state changes; failed is why it would be refused.
func (m *Main) wouldStop(does string, r job.Redrive, failed error) error {
	if failed != nil {
		return failed
	}
	return m.would(r.Queued(), "%s %s, with %s", does, job.Name(r.ID), plural(r.Queued(), "letter queued", "letters queued"))
}

// stopping asks to pause, resume or cancel a redrive. The request stays for valid.
func (m *Main) stopping(ctx context.Context, st openStore, r job.Redrive, request instance.Request, args any, valid time.Duration) error {
	request.Consumer = r.Consumer
	waiting, cancel := context.WithTimeout(ctx, stopWait)
	defer cancel()
	_, err := ask[redriving.Answer](waiting, m, st, request, args, valid)
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		m.say("no process of %s has answered yet; the request stays for %s: %s", r.Consumer, valid, m.command("redrive show "+job.Name(r.ID)))
		return errIncomplete
	}
	if errors.Is(err, instance.ErrRefused) && r.State == job.Planned {
		m.refused = true
		m.next("redrive show %s", job.Name(r.ID)) // which says how to apply it
		return err
	}
	if err != nil {
		return m.nextRefused(ctx, st, r.ID, err)
	}
	return m.showRedrive(ctx, st, r.ID)
}

func (m *Main) redrivePauseCommand() *cobra.Command {
	return m.stopCommand("pause", "pause a running redrive; letters under way go on", redriving.KindPause)
}

func (m *Main) redriveCancelCommand() *cobra.Command {
	return m.stopCommand("cancel", "end a redrive; letters that were not sent stay open", redriving.KindCancel)
}

func (m *Main) stopCommand(name, shortly, kind string) *cobra.Command {
	c := m.writes(&cobra.Command{Use: name + " R-N --reason WHY", Short: shortly, Args: one("redrive")})
	by := c.Flags().String("by", "", "who decides (default: your user name)")
	reason := c.Flags().String("reason", "", "why")
	c.RunE = m.do(func(ctx context.Context, args []string) error {
		if strings.TrimSpace(*reason) == "" {
			return usagef("redrive %s: say why with --reason", name)
		}
		return m.withRedrive(ctx, args[0], func(st openStore, r job.Redrive) error {
			if m.dryRun {
				try := m.tries(st, r).Pause
				if kind == redriving.KindCancel {
					try = m.tries(st, r).Cancel
				}
				_, err := try(ctx, r.ID, operator(*by), *reason)
				return m.wouldStop(name, r, err)
			}
			return m.stopping(ctx, st, r, instance.Request{Kind: kind, By: operator(*by), Reason: *reason}, redriving.Which{ID: r.ID}, instance.MaxValid)
		})
	})
	return c
}

func (m *Main) redriveResumeCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "resume R-N", Short: "continue a paused redrive at the beginning of its stage", Args: one("redrive"),
	}
	var a redriving.Resume
	m.writes(c)
	by := c.Flags().String("by", "", "who decides (default: your user name)")
	from := &limit{most: 1_000_000}
	c.Flags().Var(from, "from-stage", "begin again with an earlier stage")
	c.Flags().BoolVar(&a.AcceptBuild, "accept-build", false, "go on although other builds run than when it was applied")
	c.RunE = m.do(func(ctx context.Context, args []string) error {
		return m.withRedrive(ctx, args[0], func(st openStore, r job.Redrive) error {
			a.ID, a.FromStage = r.ID, from.n
			if m.dryRun {
				_, err := m.tries(st, r).Resume(ctx, a)
				return m.wouldStop("resume", r, err)
			}
			return m.stopping(ctx, st, r, instance.Request{Kind: redriving.KindResume, By: operator(*by)}, a, instance.Valid)
		})
	})
	return c
}
