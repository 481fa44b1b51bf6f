package main

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/internal/intervene"
	"github.com/headrace/headrace/internal/migrate"
	"github.com/headrace/headrace/ledger"
)

func (m *Main) stepsSendCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "send SCOPE KEY NAME VALUE", Short: "send a signal for which a message waits", Args: exactly("SCOPE", "KEY", "NAME", "VALUE"),
		Long: `Asks a process of the consumer to send a signal, such as an approval, to a message that waits for it. The same commit
makes the message due. VALUE is JSON: true, 42, "a text". Sending the same value again is no error. Exit status 5 if the
message does not wait for the signal, or no process runs. It needs an admin.`,
		Example: "  headrace steps send billing/orders.paid order:10492 approval true --reason 'within budget'",
	}
	a := m.asks(c, intervene.SendKind, "steps send")
	early := c.Flags().Bool("early", false, "also if the message does not wait for it yet: check the name, since one that no handler knows stops the message")
	c.RunE = m.do(func(ctx context.Context, args []string) error {
		if !json.Valid([]byte(args[3])) {
			return usagef("VALUE is no JSON: a text needs quotes, as in '\"yes\"'")
		}
		id, err := a.message(args[0], args[1])
		if err != nil {
			return err
		}
		s := ledger.Sent{ID: id, Step: args[2], Value: []byte(args[3]), Awaited: !*early}
		return m.withStore(ctx, func(st openStore) error { return m.send(ctx, st, a, s) })
	})
	return c
}

func (m *Main) send(ctx context.Context, st openStore, a *asking, s ledger.Sent) error {
	if m.dryRun && s.Awaited {
		return m.wouldStep(ctx, st, a, s.ID, s.Step, "send the signal")
	}
	if err := m.reaches(ctx, st, a); err != nil {
		return err
	}
	if err := m.would(1, "send %s to %s %s", s.Step, s.ID.Scope, s.ID.Key); err != nil {
		return err
	}
	sent, err := carryOut(ctx, m, st, a, s, (&intervene.Admin{Store: st.Store}).Send, atOnce)
	if err != nil {
		return err
	}
	err = m.emit("", sent, nil, [][]string{{s.Step + " is sent"}})
	m.next("steps %s", migrate.Quote(s.ID.Key))
	return err
}
