package main

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/intervene"
	"github.com/headrace/headrace/internal/migrate"
	"github.com/headrace/headrace/ledger"
)

func (m *Main) backlogRetryCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "retry [KEY...]", Short: "run messages now that wait for their next attempt",
		Long: `Makes delayed messages due now, at most 10000. This costs no attempt. Of a strict order key only the
first message becomes due. Exit status 5 if no message did.`,
		Example: "  headrace backlog retry shop:order:1049212:paid\n  headrace backlog retry --consumer billing --group 3f2a9c0d1e5b7788",
	}
	var args intervene.Args
	c.Flags().StringVar(&args.Handler, "handler", "", "only messages of this handler")
	c.Flags().StringVar(&args.ErrorFingerprint, "group", "", "only messages whose newest attempt failed with this `error-fingerprint` (see headrace backlog groups)")
	yes := true // it asks nothing: the messages would run by themselves
	return m.backlogMove(c, intervene.RetryKind, &args, &yes, "due now")
}

func (m *Main) backlogCancelCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "cancel KEY... --reason WHY", Short: "make dead letters of messages that wait", Args: least("at least one KEY"),
		Long: `Takes messages out of the backlog: each becomes a dead letter of class cancelled, which can be redriven
or discarded. A message that is being handled stays. The command first lists the steps of the messages
whose call may have been carried out: cancelling undoes no call. Exit status 5 if none was cancelled.`,
	}
	var args intervene.Args
	c.Flags().StringVar(&args.Handler, "handler", "", "only the message of this handler, where several have the key")
	var yes bool
	yesFlag(c, &yes)
	return m.backlogMove(c, intervene.CancelKind, &args, &yes, "cancelled")
}

// backlogMove adds the flags that retry and cancel share, and what they do.
func (m *Main) backlogMove(c *cobra.Command, kind string, args *intervene.Args, yes *bool, participle string) *cobra.Command {
	m.writes(c)
	r := instance.Request{Kind: kind}
	c.Flags().StringVar(&r.Consumer, "consumer", "", "the consumer (default: the one with such messages)")
	c.Flags().StringVar(&r.By, "by", "", "who decides (default: your user name)")
	c.Flags().StringVar(&r.Reason, "reason", "", "why, for the audit trail")
	c.RunE = m.do(func(ctx context.Context, keys []string) error {
		switch args.Keys, r.By = keys, operator(r.By); {
		case len(keys) == 0 && args.Handler == "" && args.ErrorFingerprint == "":
			return usagef("%s: which messages? give keys, --group or --handler", c.CommandPath())
		case kind == intervene.CancelKind && r.Reason == "":
			return usagef("%s: say why with --reason", c.CommandPath())
		}
		if err := m.mayAsk(*yes, false); err != nil {
			return err
		}
		return m.withStore(ctx, func(st openStore) error { return m.moveRows(ctx, st, r, *args, *yes, participle) })
	})
	return c
}

// moveRows asks the user unless yes, then a process, and prints what it has done.
func (m *Main) moveRows(ctx context.Context, st openStore, r instance.Request, args intervene.Args, yes bool, participle string) (err error) {
	if err := knownConsumer(ctx, st, r.Consumer, args.Handler); err != nil {
		return err
	}
	of := backlog.Filter{Consumer: r.Consumer, Handler: args.Handler, ErrorFingerprint: args.ErrorFingerprint}
	if err := wholeRowGroup(ctx, st, &of); err != nil {
		return err
	}
	args.ErrorFingerprint = of.ErrorFingerprint
	if r.Consumer == "" {
		if r.Consumer, err = waitsAt(ctx, st, args); err != nil {
			return err
		}
	}
	if r.Kind == intervene.CancelKind {
		if err := m.warnOfCalls(ctx, st, r.Consumer, args); err != nil {
			return err
		}
	}
	if m.dryRun {
		return m.wouldMove(ctx, st, r, args)
	}
	if err := m.confirm(yes, "cancel %s of %s?", plural(int64(len(args.Keys)), "message", "messages"), short(r.Consumer, 40)); err != nil {
		return err
	}
	a, err := ask[intervene.Answer](ctx, m, st, r, args, instance.Valid)
	if err != nil {
		return err
	}
	if m.json() {
		err = m.emitJSON("", a)
	} else {
		err = m.line("%s %s", plural(a.Done, "message", "messages"), participle)
	}
	for _, skip := range a.Skips {
		m.say("%s: %s", skip.Key, skip.Why)
	}
	switch {
	case err != nil:
		return err
	case a.More:
		m.say("there may be more: the same command goes on with them")
		return errIncomplete
	case len(a.Skips) > 0:
		return errIncomplete
	}
	if len(a.Letters) > 0 {
		m.next("dlq show %d", a.Letters[0])
	} else {
		m.next("backlog ls%s", chosen(dlq.Filter{Consumer: r.Consumer, Handler: args.Handler}))
	}
	return nil
}

// warnOfCalls says which steps of the messages have a call that may have been carried out.
func (m *Main) warnOfCalls(ctx context.Context, st openStore, consumer string, args intervene.Args) error {
	rows, err := st.Operations().Moves.Find(ctx, consumer, args.Keys)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if row.Delivery.Key == "" || args.Handler != "" && row.Handler != args.Handler {
			continue
		}
		steps, err := st.Operations().Steps.List(ctx, inbox.ID{Scope: row.Delivery.Scope, Key: row.Delivery.Key})
		if err != nil {
			return err
		}
		for _, step := range steps {
			if slices.Contains([]ledger.State{ledger.Pending, ledger.Parked, ledger.Skipped}, step.State) {
				m.say("warning: %s: a call of its step %s of %s may have been carried out: %s",
					short(row.Delivery.Key, 40), step.Step, step.System, m.command("steps "+migrate.Quote(row.Delivery.Key)))
			}
		}
	}
	return nil
}

// wouldMove is would for messages that wait.
func (m *Main) wouldMove(ctx context.Context, st openStore, r instance.Request, args intervene.Args) error {
	f := backlog.Filter{Consumer: r.Consumer, Handler: args.Handler, ErrorFingerprint: args.ErrorFingerprint, Status: "delayed"}
	does, more := "retry", ""
	if r.Kind == intervene.CancelKind {
		does, f.Status = "cancel", ""
	}
	var rows []backlog.Row
	var err error
	if len(args.Keys) > 0 {
		rows, err = st.Operations().Moves.Find(ctx, r.Consumer, args.Keys)
		rows = slices.DeleteFunc(rows, func(row backlog.Row) bool {
			return f.Status != "" && row.Wait.Status != f.Status || f.Handler != "" && row.Handler != f.Handler
		})
	} else {
		var next int64
		if rows, next, err = listRows(ctx, st.Operations().Waiting, f, 0, backlog.MaxRetry); next != 0 {
			more = "at least "
		}
	}
	if err != nil {
		return err
	}
	n := int64(len(rows))
	if n == 0 {
		return instance.Refuse("no such message waits")
	}
	return m.would(n, "%s %s%s of %s", does, more, plural(n, "message", "messages"), r.Consumer)
}

// waitsAt returns the only consumer whose backlog has messages like these.
func waitsAt(ctx context.Context, st openStore, args intervene.Args) (string, error) {
	found := make(map[string]bool)
	for _, key := range args.Keys {
		entries, err := st.Inbox().Find(ctx, key)
		if err != nil {
			return "", err
		}
		for _, e := range entries {
			if e.Wait.Status != "" {
				consumer, _, _ := strings.Cut(e.Scope, "/")
				found[consumer] = true
			}
		}
	}
	if len(args.Keys) == 0 {
		depths, err := st.Backlog().Depths(ctx)
		if err != nil {
			return "", err
		}
		for _, d := range depths {
			if args.Handler == "" || d.Handler == args.Handler {
				found[d.Consumer] = true
			}
		}
	}
	names := slices.Sorted(maps.Keys(found))
	switch len(names) {
	case 0:
		if args.Handler != "" {
			return "", usagef("no message of %s is among those that wait longest: name its consumer with --consumer", args.Handler)
		}
		return "", instance.Refuse("no such message waits")
	case 1:
		return names[0], nil
	}
	return "", usagef("messages of several consumers wait, choose with --consumer: %s", strings.Join(names, ", "))
}
