package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/outbox"
)

// localView says what became of events, as JSON.
type localView struct {
	Local   int `json:"local"`
	Removed int `json:"removed"`
}

func (m *Main) outboxLocalCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "local [TOPIC...]", Short: "give events that no process publishes to local handlers",
		Long: `For a database without a broker. If a program publishes an event outside of a handler without
headrace.Event.Local, the event waits for a process with a Sink. This command makes such events of the topics (or of
all) local: the consumers that are subscribed to the topic get them, or the first ones that subscribe later. Events whose
topic had a subscription when they were published are removed, since its consumers have copies. The command is refused
while a process publishes the outbox.`,
	}
	name := c.Flags().String("outbox", outbox.DefaultName, "the outbox")
	by := c.Flags().String("by", "", "who does it (default: your user name)")
	var yes bool
	yesFlag(c, &yes)
	m.writes(c)
	c.RunE = m.do(func(ctx context.Context, args []string) error {
		if err := m.mayAsk(yes, false); err != nil {
			return err
		}
		return m.withStore(ctx, func(st openStore) error {
			list, err := st.Outbox().Topics(ctx, *name)
			if err != nil {
				return err
			}
			n := int64(0)
			for _, t := range list {
				if len(args) == 0 || slices.Contains(args, t.Topic) {
					n += t.Events
				}
			}
			if n == 0 {
				m.say("nothing was done: no such event waits in the outbox %s", short(*name, 40))
				return errFound
			}
			if err := m.would(n, "give %s of the outbox %s to local handlers", plural(n, "event", "events"), short(*name, 40)); err != nil {
				return err
			}
			if err := m.confirm(yes, "give %s of the outbox %s to local handlers, and never publish them?", plural(n, "event", "events"), short(*name, 40)); err != nil {
				return err
			}
			return m.makeLocal(ctx, st.Operations().Subscriptions, *name, args, operator(*by))
		})
	})
	return c
}

func (m *Main) makeLocal(ctx context.Context, s outbox.Subscriptions, name string, topics []string, by string) error {
	local, removed, err := s.Localize(ctx, name, topics, by)
	if errors.Is(err, outbox.ErrPublished) {
		return fmt.Errorf("nothing was done: see %s: %w", m.command("outbox status"), err)
	}
	if err != nil {
		return err
	}
	for moved := 1; moved > 0; { // consumers that run do so too, after a while
		if moved, err = s.Sweep(ctx); err != nil {
			m.say("the events are local; a consumer takes them when it runs: %v", err)
			break
		}
	}
	text := plural(local, "event is local", "events are local")
	if removed > 0 {
		text += ", " + plural(removed, "event", "events") + " that subscribed consumers have got already removed"
	}
	return m.emit("", localView{local, removed}, nil, [][]string{{text}})
}
