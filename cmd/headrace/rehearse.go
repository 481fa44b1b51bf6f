package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/inspect"
	"github.com/headrace/headrace/internal/rehearsal"
)

func (m *Main) rehearseCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "rehearse GROUP | ID...", Short: "try the handler of dead letters on them, and roll back",
		Long: `Asks a process of the consumer to run the handler on dead letters and roll back, and prints which of them
would pass. Nothing is kept and nothing is published; only PostgreSQL sequences advance. By default it takes
20 letters of the group (the oldest, the newest and some between) and a process of the newest running
build. The handler must be declared consumer.Rehearsable().

GROUP is the error fingerprint, or at least its first 4 digits. If the digits are also the number of a letter,
use --group or --letter. Exit status 3 if a letter would fail or was not rehearsed, 5 if none was.`,
		Example: "  headrace dlq rehearse 3f2a\n  headrace dlq rehearse 17 18 --host pod-canary-0",
	}
	var of dlq.Filter
	addOwner(c, &of)
	which := addNamed(c)
	var r instance.Request
	c.Flags().StringVar(&r.Build, "build", "", "by a process of this build (default: the newest one that runs)")
	c.Flags().StringVar(&r.Host, "host", "", "by a process on this host")
	c.Flags().StringVar(&r.By, "by", "", "who asks (default: your user name)")
	c.Flags().StringVar(&r.Reason, "reason", "", "why, for the record of requests")
	count := &limit{n: rehearsal.Usual, most: rehearsal.Most}
	c.Flags().Var(count, "limit", "how many letters of a group")
	c.RunE = m.do(func(ctx context.Context, args []string) error {
		r.Kind, r.By = rehearsal.Kind, operator(r.By)
		return m.withStore(ctx, func(st openStore) error { return m.rehearse(ctx, st, of, r, count.n, which, args) })
	})
	return c
}

// rehearse asks a process for a rehearsal of what which names, and prints its report.
func (m *Main) rehearse(ctx context.Context, st openStore, of dlq.Filter, r instance.Request, count int, which *named, named []string) (err error) {
	args, next := rehearsal.Args{Count: count}, "redrive plan"
	group, letters, err := which.choose(ctx, st, named, of)
	if err != nil {
		return err
	}
	if group != "" {
		of.ErrorFingerprint = group
		g, err := m.oneGroup(ctx, st, of)
		if err != nil {
			return err
		}
		r.Consumer = g.Consumer
		args.Filter = dlq.Filter{Handler: g.Handler, ErrorFingerprint: g.ErrorFingerprint}
		if g.Class == dlq.Conflict { // whose plan would skip them
			next = "dlq why"
		}
	} else if args.Letters, err = m.readIDs(letters); err != nil {
		return err
	} else if r.Consumer, err = consumerOf(ctx, st, args.Letters); err != nil {
		return err
	}
	if r.Build == "" && r.Host == "" {
		if r.Build, err = inspect.NewestBuild(ctx, st, r.Consumer); err != nil {
			return err
		}
	}
	report, err := ask[rehearsal.Report](ctx, m, st, r, args, instance.Valid)
	if errors.Is(err, instance.ErrRefused) && args.Filter.ErrorFingerprint != "" {
		m.refused = true
		m.next("%s %s%s", next, args.Filter.ErrorFingerprint, chosen(of))
	}
	if err != nil {
		return err
	}
	if m.json() {
		err = m.emitJSON("", report)
	} else {
		err = m.printReport(report)
	}
	if err == nil && report.Pass < len(report.Results)+report.NotReached {
		m.nextFailure(report)
		return errIncomplete
	}
	switch {
	case err != nil:
	case args.Filter.ErrorFingerprint != "":
		m.next("%s %s%s", next, args.Filter.ErrorFingerprint, chosen(of))
	default:
		m.next("dlq redrive %s --reason WHY", strings.Trim(fmt.Sprint(args.Letters), "[]"))
	}
	return err
}

// nextFailure leads to the first letter that would fail.
func (m *Main) nextFailure(report rehearsal.Report) {
	for _, r := range report.Results {
		if r.Outcome == rehearsal.Fails {
			m.next("dlq show %d --payload", r.LetterID)
			return
		}
	}
}

// consumerOf returns the consumer whose letters these are.
func consumerOf(ctx context.Context, st openStore, ids []int64) (consumer string, err error) {
	letters, err := redrive.New(st).List(ctx, dlq.Filter{IDs: ids, AnyState: true}, 0, len(ids))
	if err != nil {
		return "", err
	}
	for _, id := range ids {
		i := slices.IndexFunc(letters, func(l dlq.Letter) bool { return l.LetterID == id })
		switch {
		case i < 0:
			return "", fmt.Errorf("%w: %d", dlq.ErrNotFound, id)
		case consumer != "" && letters[i].Consumer != consumer:
			return "", usagef("letters of two consumers, %s and %s: ask each for its own", consumer, letters[i].Consumer)
		}
		consumer = letters[i].Consumer
	}
	return consumer, nil
}

func (m *Main) printReport(r rehearsal.Report) error {
	where := strings.TrimSpace(r.Host + " " + r.Build)
	if err := m.line("%d of %s on %s, rolled back, %.1f s", len(r.Results), plural(r.Of, "letter", "letters"), text(where), r.Took.Seconds()); err != nil {
		return err
	}
	lines := []struct {
		n    int
		says string
		of   rehearsal.Outcome
	}{
		{r.Pass, "would pass", rehearsal.Passes}, {r.Fail, "would fail", rehearsal.Fails}, {r.Postponed, "would be postponed", rehearsal.Postpone},
		{r.Skipped, "skipped", rehearsal.Skipped}, {r.Applied, "applied", rehearsal.Applied}, {r.NotReached, "not reached in time", ""},
	}
	for n, l := range lines {
		if l.n == 0 && n > 1 { // how many would pass, and fail, is always told
			continue
		}
		if err := m.line("%4d %s", l.n, l.says); err != nil {
			return err
		}
		if err := m.printReasons(r, l.of); err != nil {
			return err
		}
	}
	return nil
}

// printReasons prints what the letters of an outcome have in common, the most frequent first.
func (m *Main) printReasons(r rehearsal.Report, of rehearsal.Outcome) error {
	letters := make(map[string][]int64)
	for _, one := range r.Results {
		if one.Outcome == of {
			letters[reason(one)] = append(letters[reason(one)], one.LetterID)
		}
	}
	reasons := slices.SortedFunc(maps.Keys(letters), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(letters[b]), len(letters[a])), cmp.Compare(a, b))
	})
	for _, why := range reasons {
		if err := m.line("     %3d %s (letter %d)", len(letters[why]), why, letters[why][0]); err != nil {
			return err
		}
	}
	return nil
}

// reason says what became of a letter.
func reason(r rehearsal.Result) string {
	switch r.Outcome {
	case rehearsal.Passes:
		return effects(r)
	case rehearsal.Fails:
		group := map[rehearsal.Group]string{rehearsal.SameGroup: "in the same group", rehearsal.AnotherGroup: "in the group", rehearsal.NewGroup: "in a new group"}[r.Group]
		if r.Group != rehearsal.SameGroup {
			group += " " + short(r.ErrorFingerprint, inspect.AllDigits)
		}
		return group + ": " + short(text(r.Error), 120)
	case rehearsal.Postpone:
		return short(text(r.Error), 120)
	}
	return r.Why
}

// effects says what a handler would write and publish.
func effects(r rehearsal.Result) string {
	if r.Stale {
		return "nothing to do: something newer was applied"
	}
	rows := "each writes " + plural(r.Rows, "row", "rows")
	if r.Rows < 0 {
		rows = "rows unknown, track_counts is off"
	}
	return rows + " and " + r.Publishes()
}
