package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/migrate"
	"github.com/headrace/headrace/outbox"
)

func (m *Main) subscriptionCommand() *cobra.Command {
	return m.parent("subscription", "topics that consumers get the events of, without a broker",
		m.subscriptionListCommand(), m.subscriptionMoveCommand(), m.subscriptionRemoveCommand())
}

// subscriptionView is a subscription, as JSON.
type subscriptionView struct {
	Consumer string        `json:"consumer"`
	Topic    string        `json:"topic"`
	Created  time.Time     `json:"since"`
	Age      time.Duration `json:"seen_ago_ns"` // since a process had a handler for it
}

func (m *Main) subscriptionListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "ls [CONSUMER]", Short: "list subscriptions", Args: mostOne("consumer"),
		Long: "Lists the topics of local handlers, and when a running process last had a handler for each.",
		RunE: m.do(func(ctx context.Context, args []string) error {
			consumer := ""
			if len(args) == 1 {
				consumer = args[0]
			}
			return m.withStore(ctx, func(st openStore) error {
				list, err := st.Operations().Subscriptions.List(ctx, consumer)
				if err != nil {
					return err
				}
				if err := m.emitSubscriptions(list); err != nil || len(list) > 0 {
					return err
				}
				return knownConsumer(ctx, st, consumer, "")
			})
		}),
	}
}

func (m *Main) emitSubscriptions(list []outbox.Subscription) error {
	views := make([]subscriptionView, 0, len(list))
	var rows [][]string
	for _, s := range list {
		views = append(views, subscriptionView{s.Consumer, s.Topic, s.Created, s.Age})
		rows = append(rows, []string{short(s.Consumer, 40), short(s.Topic, 60), m.when(s.Created), s.Age.Round(time.Second).String() + " ago"})
	}
	return m.emit("subscriptions", views, []string{"CONSUMER", "TOPIC", "SINCE", "SEEN"}, rows)
}

// changedView says what changed, as JSON.
type changedView struct {
	Subscriptions int `json:"subscriptions"`
	Events        int `json:"events"`
}

func (m *Main) emitChanged(c outbox.Changed, what string) error {
	text := fmt.Sprintf("%s and %s %s", plural(c.Subscriptions, "subscription", "subscriptions"), plural(c.Rows, "event", "events"), what)
	err := m.emit("", changedView{c.Subscriptions, c.Rows}, nil, [][]string{{text}})
	m.next("subscription ls")
	return err
}

func (m *Main) subscriptionMoveCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "move FROM TO", Short: "give the subscriptions of a renamed consumer to its new name", Args: twoConsumers,
		Long: `Gives the subscriptions of the consumer FROM, and the events that wait for it, to the consumer TO. It is
refused while a process of FROM runs. Events of transactions that are open meanwhile do not move: run it again.

The inbox, the backlog and the dead letters keep the name FROM. TO does not know what FROM has handled: if such a
message comes again, it is applied again. Messages in the backlog of FROM, and its redriven letters, wait for a
process that is called FROM. So before you stop FROM, let it finish its backlog, and redrive or discard its letters.`,
	}
	by := c.Flags().String("by", "", "who does it (default: your user name)")
	var yes bool
	yesFlag(c, &yes)
	m.writes(c)
	c.RunE = m.do(func(ctx context.Context, args []string) error {
		if err := m.mayAsk(yes, false); err != nil {
			return err
		}
		return m.withStore(ctx, func(st openStore) error {
			if err := errors.Join(m.sayWhatStays(ctx, st, args[0], args[1]), m.sayNewTopics(ctx, st, args[0], args[1])); err != nil {
				return err
			}
			if err := m.wouldChange(ctx, st, "give to "+short(args[1], 40), args[0], nil, true); err != nil {
				return err
			}
			if err := m.confirm(yes, "give the subscriptions and events of %s to %s?", short(args[0], 40), short(args[1], 40)); err != nil {
				return err
			}
			changed, err := st.Operations().Subscriptions.Move(ctx, args[0], args[1], operator(*by))
			switch {
			case errors.Is(err, outbox.ErrRuns):
				return fmt.Errorf("%w: a process of %s runs: stop it first (one that was killed counts for %s), see %s",
					errRefused, short(args[0], 40), instance.Missed, m.command("consumer ls"))
			case err != nil:
				return err
			}
			if changed == (outbox.Changed{}) {
				m.say("nothing was done: %s has no subscription", short(args[0], 40))
				return errFound
			}
			return m.emitChanged(changed, "moved")
		})
	})
	return c
}

// sayNewTopics warns where TO is a consumer already: it may be another one, without handlers for these topics.
func (m *Main) sayNewTopics(ctx context.Context, st openStore, from, to string) error {
	theirs, err := st.Operations().Subscriptions.List(ctx, to)
	if err != nil || len(theirs) == 0 {
		return err
	}
	moved, err := st.Operations().Subscriptions.List(ctx, from)
	for _, s := range moved {
		if !slices.ContainsFunc(theirs, func(t outbox.Subscription) bool { return t.Topic == s.Topic }) {
			m.say("warning: %s has subscriptions, and none to %s: without a handler for it the events wait", short(to, 40), short(s.Topic, 60))
		}
	}
	return err
}

// sayWhatStays warns of what a move leaves under the old name.
func (m *Main) sayWhatStays(ctx context.Context, st openStore, from, to string) error {
	depth, err := st.Backlog().Depth(ctx, from)
	if err != nil {
		return err
	}
	letters, err := st.Letters().Count(ctx, dlq.Filter{State: dlq.Open, Consumer: from})
	if err != nil {
		return err
	}
	from, to = short(from, 40), short(to, 40)
	m.say("warning: the inbox stays with %s: a message that it has handled and that comes again is applied again by %s", from, to)
	if n := waiting(depth) + depth.Leased; n+letters > 0 {
		m.say("warning: %s in the backlog of %s and %s stay too: only a process that is called %s handles them, so let it finish before you stop it and move",
			plural(n, "message", "messages"), from, plural(letters, "dead letter", "dead letters"), from)
	}
	return nil
}

// wouldChange is would for the subscriptions of a consumer to topics, or to all, and with events for
// what waits on its line.
func (m *Main) wouldChange(ctx context.Context, st openStore, does, consumer string, topics []string, events bool) error {
	if !m.dryRun {
		return nil
	}
	list, err := st.Operations().Subscriptions.List(ctx, consumer)
	if err != nil {
		return err
	}
	other := func(topic string) bool { return len(topics) > 0 && !slices.Contains(topics, topic) }
	n := len(slices.DeleteFunc(list, func(s outbox.Subscription) bool { return other(s.Topic) }))
	waits, err := st.Outbox().Topics(ctx, outbox.LineOf(consumer))
	if err != nil {
		return err
	}
	rows := int64(0)
	for _, t := range waits {
		if !other(t.Topic) {
			rows += t.Events
		}
	}
	says := fmt.Sprintf("%s %s of %s", does, plural(n, "subscription", "subscriptions"), short(consumer, 40))
	if events {
		says += " with " + plural(rows, "event", "events")
	} else if rows > 0 {
		return stillWait(rows, consumer)
	}
	return m.would(int64(n), "%s", says)
}

// stillWait is the error of a subscription that has events, and is not to be ended with them.
func stillWait(rows int64, consumer string) error {
	return fmt.Errorf("%w: %s for %s: start a process that handles events, or delete them with --events",
		errRefused, plural(rows, "event waits", "events wait"), short(consumer, 40))
}

func twoConsumers(c *cobra.Command, args []string) error {
	switch {
	case len(args) == 2 && args[0] == args[1]:
		return usagef("FROM and TO are the same consumer, %s: nothing is to be moved", short(args[0], 40))
	case len(args) == 2:
		return nil
	}
	return usagef("%s takes two consumers, FROM and TO", c.CommandPath())
}

func (m *Main) subscriptionRemoveCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "remove CONSUMER [TOPIC...]", Short: "end subscriptions", Args: least("a CONSUMER"),
		Long: `Ends the subscriptions of a consumer to these topics, or to all. It is refused while events wait; --events deletes
them. It is also refused while a process of the consumer runs and a process has had a local handler for one of the
topics within 2 minutes: that process would subscribe again, and miss the events published until then. Stop the
process, or deploy it without the handler and wait for 2 minutes.`,
	}
	events := c.Flags().Bool("events", false, "also delete the events that wait")
	by := c.Flags().String("by", "", "who does it (default: your user name)")
	var yes bool
	yesFlag(c, &yes)
	m.writes(c)
	c.RunE = m.do(func(ctx context.Context, args []string) error {
		if err := m.mayAsk(yes, false); err != nil {
			return err
		}
		return m.withStore(ctx, func(st openStore) error {
			if err := m.wouldChange(ctx, st, "end", args[0], args[1:], *events); err != nil {
				return err
			}
			if err := m.confirm(yes, "end subscriptions of %s?", short(args[0], 40)); err != nil {
				return err
			}
			changed, err := st.Operations().Subscriptions.Remove(ctx, args[0], args[1:], *events, operator(*by))
			switch {
			case errors.Is(err, outbox.ErrRuns):
				return fmt.Errorf("%w: a process of %s runs and has a local handler: stop it, or deploy it without the handler and wait 2 minutes, see %s and %s",
					errRefused, short(args[0], 40), m.command("subscription ls "+migrate.Quote(args[0])), m.command("consumer ls"))
			case errors.Is(err, outbox.ErrRowsWait):
				return stillWait(int64(changed.Rows), args[0])
			case err != nil:
				return err
			case changed == (outbox.Changed{}):
				m.say("nothing was done: there is no such subscription")
				return errFound
			}
			return m.emitChanged(changed, "removed")
		})
	})
	return c
}
