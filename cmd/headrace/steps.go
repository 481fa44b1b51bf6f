package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/inspect"
	"github.com/headrace/headrace/internal/intervene"
	"github.com/headrace/headrace/internal/migrate"
	"github.com/headrace/headrace/ledger"
)

func (m *Main) stepsCommand() *cobra.Command {
	c := m.parent("steps", "look at what leased handlers did to other systems, and decide on it",
		m.stepsListCommand(), m.stepsFindCommand(), m.stepsResolveCommand(), m.stepsSendCommand(), m.stepsEraseCommand())
	c.Use, c.Args = "steps KEY", one("KEY, or ls, find, resolve, send, erase")
	c.Long = `Shows the steps of the messages with this key, in every scope, and what a person can do about them.
Results are shown with --payload only.`
	shown := addContent(c, "the results")
	c.RunE = m.do(func(ctx context.Context, args []string) error {
		return m.withStore(ctx, func(st openStore) error { return m.showSteps(ctx, st, args[0], shown) })
	})
	return c
}

// oldPending is how long a step may be pending before it is listed: most calls last
// seconds.
const oldPending = time.Hour

// doubled chooses steps that were carried out twice.
const doubled = "doubled"

func (m *Main) stepsListCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "ls", Short: "list steps that need a person, the oldest first", Args: noArgs,
		Long: `Lists the steps that wait for a person, and those whose outcome has been unknown for more than an hour.`,
	}
	state := &choice{of: []string{string(ledger.Parked), string(ledger.Pending), string(ledger.Skipped), string(ledger.Awaiting), doubled}}
	c.Flags().Var(state, "state", "only steps in this state: parked, pending, skipped, awaiting a signal, or doubled (carried out twice)")
	system := c.Flags().String("system", "", "only steps that call this system")
	most := &limit{n: 50, most: listMost}
	c.Flags().Var(most, "limit", "how many to list")
	c.RunE = m.do(func(ctx context.Context, _ []string) error {
		return m.withStore(ctx, func(st openStore) error {
			filters, none := []ledger.Filter{{State: ledger.State(state.value), System: *system}}, "no step is "+state.value
			switch state.value {
			case doubled:
				filters = []ledger.Filter{{Doubled: true, System: *system}}
			case "":
				filters = []ledger.Filter{{State: ledger.Parked, System: *system}, {State: ledger.Pending, System: *system, Idle: oldPending}}
				none = "no step needs a person"
			}
			var rows []ledger.Row
			for _, f := range filters {
				some, err := st.Operations().StepAdmin.Search(ctx, f, most.n+1)
				if err != nil {
					return err
				}
				rows = append(rows, some...)
			}
			if len(rows) > most.n {
				rows = rows[:most.n]
				m.say("there are more: --limit %d", min(2*most.n, listMost))
			}
			if err := m.printSteps(ctx, st, rows); err != nil {
				return err
			}
			if len(rows) == 0 {
				m.say("%s", none)
			} else {
				m.next("steps %s", migrate.Quote(rows[0].ID.Key))
			}
			return nil
		})
	})
	return c
}

func (m *Main) stepsFindCommand() *cobra.Command {
	return &cobra.Command{
		Use: "find SYSTEM ID", Short: "find the message whose step created an id in a system", Args: exactly("SYSTEM", "ID"),
		RunE: m.do(func(ctx context.Context, args []string) error {
			return m.withStore(ctx, func(st openStore) error {
				rows, err := st.Operations().StepAdmin.Find(ctx, args[0], args[1], listMost)
				if err != nil {
					return err
				}
				if err := m.foundSteps(ctx, st, rows); err != nil {
					return err
				}
				m.next("steps %s", migrate.Quote(rows[0].ID.Key))
				return nil
			})
		}),
	}
}

func (m *Main) stepsEraseCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "erase SCOPE KEY", Short: "remove the results of a message's steps, and its answer", Args: exactly("SCOPE", "KEY"),
		Long: `Asks a process of the consumer to remove personal data of a message that is done or discarded: the results of its steps,
also those shared with other messages (Memo), and its answer. It needs an admin. The record that the steps were done is
kept, with their external ids, so that no call is repeated.`,
		Example: "  headrace steps erase billing/orders.paid order:10492 --reason 'request of the customer, ticket 812'",
	}
	a := m.asks(c, intervene.EraseKind, "steps erase")
	var yes bool
	yesFlag(c, &yes)
	c.RunE = m.do(func(ctx context.Context, args []string) error {
		id, err := a.message(args[0], args[1])
		if err == nil && a.Reason == "" {
			err = usagef("steps erase: say why with --reason")
		}
		if err == nil {
			err = m.mayAsk(yes, false)
		}
		if err != nil {
			return err
		}
		return m.withStore(ctx, func(st openStore) error {
			if err := m.wouldErase(ctx, st, a, id); err != nil {
				return err
			}
			if err := m.confirm(yes, "erase the results of %s %s for ever?", args[0], args[1]); err != nil {
				return err
			}
			erased, err := carryOut(ctx, m, st, a, id, (&intervene.Admin{Store: st.Store}).Erase, atOnce)
			if err != nil {
				return err
			}
			if erased.Done == 0 {
				return m.nothingErased()
			}
			err = m.emit("", erased, nil, [][]string{{fmt.Sprintf("%d erased", erased.Done)}})
			m.next("steps %s", migrate.Quote(id.Key))
			return err
		})
	})
	return c
}

// nothingErased is the end of an erasure that found nothing.
func (m *Main) nothingErased() error {
	m.say("nothing was erased: the message has no results, or is neither done nor discarded")
	return errFound
}

// wouldErase is would for the results of a message.
func (m *Main) wouldErase(ctx context.Context, st openStore, a *asking, id inbox.ID) error {
	if !m.dryRun {
		return nil
	}
	if err := m.reaches(ctx, st, a); err != nil {
		return err
	}
	rows, err := st.Operations().Steps.List(ctx, id)
	if err != nil {
		return err
	}
	answer, err := st.Operations().Answers.Get(ctx, id)
	if err != nil {
		return err
	}
	entries, err := st.Inbox().Find(ctx, id.Key)
	if err != nil {
		return err
	}
	n := int64(len(slices.DeleteFunc(rows, func(r ledger.Row) bool { return r.Size < 0 })))
	ended := slices.ContainsFunc(entries, func(e inbox.Entry) bool { return e.ID == id && e.State.Ended() })
	if n == 0 && answer == nil || !ended {
		return m.nothingErased()
	}
	return m.would(n, "erase %s of steps of %s %s, and its answer", plural(n, "result", "results"), id.Scope, id.Key)
}

// showSteps prints the steps of the messages with a key, and what to do about those that
// need a person.
func (m *Main) showSteps(ctx context.Context, st openStore, key string, shown *content) error {
	eyes := m.eyes(shown)
	entries, err := st.Inbox().Find(ctx, key)
	if err != nil {
		return err
	}
	var rows []ledger.Row
	for _, e := range entries {
		steps, err := st.Operations().Steps.List(ctx, e.ID)
		if err != nil {
			return err
		}
		rows = append(rows, steps...)
	}
	for i := range rows {
		if !shown.any() {
			rows[i].Result = nil
		} else if rows[i].Result == nil && rows[i].Size >= 0 {
			if rows[i].Result, err = st.Operations().Steps.Result(ctx, rows[i].ID, rows[i].Step); err != nil {
				return err
			}
		}
		rows[i].Result = eyes.payload(rows[i].Result)
	}
	if err := m.foundSteps(ctx, st, rows); err != nil || m.json() {
		return err
	}
	for _, r := range rows {
		if r.Result != nil {
			if err := m.section("result of "+r.Step, indent(splitLines(string(r.Result)))); err != nil {
				return err
			}
		}
	}
	ended := make(map[inbox.ID]bool)
	for _, e := range entries {
		ended[e.ID] = e.State.Ended()
	}
	if err := m.advise(ctx, st, key, slices.DeleteFunc(rows, func(r ledger.Row) bool { return ended[r.ID] })); err != nil {
		return err
	}
	m.next("inbox show %s", migrate.Quote(key))
	return nil
}

// advise says what a person can do about the steps of a key that need one; their messages
// have not ended.
func (m *Main) advise(ctx context.Context, st openStore, key string, rows []ledger.Row) error {
	database, err := st.Operations().Schema.Check(ctx)
	if err != nil {
		return err
	}
	letters, err := st.Letters().List(ctx, dlq.Filter{Key: key}, 0, listPage)
	if err != nil {
		return err
	}
	for i, v := range viewSteps(database, rows) {
		r := rows[i]
		if r.State == ledger.Awaiting {
			words := inspect.StepWords("send", r, migrate.Quote) + " VALUE"
			says := fmt.Sprintf("The message waits for signal %s until %s: %s", r.Step, when(v.Until), m.command(words))
			if err := m.paragraph(says); err != nil {
				return err
			}
		}
		if err := m.printAdvice(inspect.StepAdvice(r, inspect.LetterOf(letters, r.ID), v.IdempotencyKey, migrate.Quote)); err != nil {
			return err
		}
	}
	return nil
}

// printAdvice prints what a person can do about a step, if anything.
func (m *Main) printAdvice(a inspect.Advice) error {
	if a.Says == "" {
		return nil
	}
	if err := m.paragraph(a.Says); err != nil {
		return err
	}
	for _, c := range a.Commands {
		text := "  " + m.command(c.Words)
		if c.Means != "" {
			text += "   " + c.Means
		}
		if err := m.line("%s", text); err != nil {
			return err
		}
	}
	return nil
}

// foundSteps prints rows. Finding none is no success.
func (m *Main) foundSteps(ctx context.Context, st openStore, rows []ledger.Row) error {
	err := m.printSteps(ctx, st, rows)
	if err == nil && len(rows) == 0 {
		m.say("there is no such step")
		return errFound
	}
	return err
}

// printSteps prints rows.
func (m *Main) printSteps(ctx context.Context, st openStore, rows []ledger.Row) error {
	database, err := st.Operations().Schema.Check(ctx)
	if err != nil {
		return err
	}
	views, lines := viewSteps(database, rows), make([][]string, 0, len(rows))
	for _, v := range views {
		lines = append(lines, append([]string{short(v.Scope, 40), short(v.Key, 40)}, v.line()...))
	}
	if len(rows) > 0 || m.json() {
		err = m.emit("steps", views, append([]string{"SCOPE", "KEY"}, stepColumns...), lines)
	}
	return err
}
