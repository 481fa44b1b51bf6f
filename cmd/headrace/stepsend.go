package main

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/ledger/resolve"
)

func (m *Main) stepsSendCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "send SCOPE KEY NAME VALUE", Short: "send a signal for which a message waits", Args: exactly("SCOPE", "KEY", "NAME", "VALUE"),
		Long: `Sends a signal, such as an approval, to a message that waits for it; the message goes on in the same commit. VALUE is
JSON: true, 42, "a text". The same value again is no error. Exit status 5 if the message does not wait for the signal.`,
		Example: "  headrace steps send billing/orders.paid order:10492 approval true --reason 'within budget'",
	}
	by := c.Flags().String("by", "", "who sends it (default: your user name)")
	reason := c.Flags().String("reason", "", "why, for people who look at the step")
	m.writes(c)
	early := c.Flags().Bool("early", false, "also if the message does not wait for it yet: check the name, since one that no handler knows stops the message")
	c.RunE = m.do(func(ctx context.Context, args []string) error {
		if !json.Valid([]byte(args[3])) {
			return usagef("VALUE is no JSON: a text needs quotes, as in '\"yes\"'")
		}
		return m.withStore(ctx, func(st openStore) error {
			id := inbox.ID{Scope: args[0], Key: args[1]}
			if *early {
				if err := m.would(1, "send %s to %s %s", args[2], id.Scope, id.Key); err != nil {
					return err
				}
			}
			if err := m.wouldStep(ctx, st, id, args[2], "send the signal"); err != nil {
				return err
			}
			err := resolve.New(st).Send(ctx, ledger.Sent{
				ID: id, Step: args[2], Value: []byte(args[3]), Awaited: !*early, By: operator(*by), Reason: *reason,
			})
			if err != nil {
				return err
			}
			return m.emit("", map[string]any{"step": args[2], "sent": true}, nil, [][]string{{args[2] + " is sent"}})
		})
	})
	return c
}
