package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/headrace/headrace/internal/migrate"
	"github.com/headrace/headrace/outbox"
)

// topicsShown is how many topics of an outbox are named.
const topicsShown = 10

// boxView is an outbox or a line as JSON, with what waits by topic where it is unpublished.
type boxView struct {
	outbox.Status
	Topics []outbox.TopicStatus `json:"topics,omitempty"`
	Owners []string             `json:"owners,omitempty"` // of outbox status
}

// boxes returns the outboxes and lines of the database, or the one called name. Those that
// no relay publishes have their topics, and Oldest counts the held events too.
func boxes(ctx context.Context, st openStore, name string) ([]boxView, error) {
	list, err := st.Outbox().List(ctx, name)
	if err != nil {
		return nil, err
	}
	views := make([]boxView, 0, len(list))
	for _, s := range list {
		v := boxView{Status: s}
		if s.Relays+s.Waiting == 0 && waitingEvents(s)+s.Parked > 0 {
			if v.Topics, err = st.Outbox().Topics(ctx, s.Outbox); err != nil {
				return nil, err
			}
		}
		for _, t := range v.Topics {
			v.Oldest = max(v.Oldest, t.Oldest)
		}
		views = append(views, v)
	}
	return views, nil
}

// boxWarnings returns what is wrong with an outbox or a line.
func (m *Main) boxWarnings(b boxView, known []*consumerState, subscribed []outbox.Subscription) []string {
	consumer, line := outbox.ConsumerOf(b.Outbox)
	switch {
	case !line:
		return m.outboxWarnings(b)
	case consumer == "":
		return topicWarnings(b.Topics, func(string) string {
			return "no consumer is subscribed: deploy one with a local handler for the topic, see " + m.command("subscription ls")
		})
	case !runs(known, consumer):
		c := migrate.Quote(consumer)
		return topicWarnings(b.Topics, func(string) string {
			return fmt.Sprintf("%s, of which no process runs: start one; %s if it was renamed; %s if it is gone", c,
				m.command("subscription move "+c+" NEW"), m.command("subscription remove "+c+" --events"))
		})
	}
	return topicWarnings(slices.DeleteFunc(slices.Clone(b.Topics), func(t outbox.TopicStatus) bool {
		return slices.ContainsFunc(subscribed, func(s outbox.Subscription) bool {
			return s.Consumer == consumer && s.Topic == t.Topic && s.Age <= outbox.Unseen
		})
	}), func(topic string) string {
		return fmt.Sprintf("%s, of which no process has a local handler for the topic: deploy one, or delete them: %s", migrate.Quote(consumer),
			m.command("subscription remove "+migrate.Quote(consumer)+" "+migrate.Quote(topic)+" --events"))
	})
}

// unpublishedWarnings returns what waits by topic in an outbox that no process publishes.
func (m *Main) unpublishedWarnings(b boxView) []string {
	flag := ""
	if b.Outbox != outbox.DefaultName {
		flag = " --outbox " + migrate.Quote(b.Outbox)
	}
	list := topicWarnings(b.Topics, func(topic string) string {
		return fmt.Sprintf("no process publishes this outbox: run one with a Sink; or, without a broker, publish with Event.Local and run %s",
			m.command("outbox local "+migrate.Quote(topic)+flag))
	})
	for n := range list {
		list[n] = "outbox " + short(b.Outbox, 40) + ": " + list[n]
	}
	return list
}

// outboxWarnings returns what is wrong with an outbox.
func (m *Main) outboxWarnings(b boxView) []string {
	name, list := short(b.Outbox, 40), m.unpublishedWarnings(b)
	if b.Waiting > 0 {
		list = append(list, fmt.Sprintf("outbox %s: %s: it is published to another sink, %s", name, plural(b.Waiting, "process waits", "processes wait"), short(b.Sink, 60)))
	}
	if b.Parked > 0 {
		list = append(list, fmt.Sprintf("outbox %s: %s: %s", name, plural(b.Parked, "event is refused by the broker", "events are refused by the broker"), m.command("outbox parked")))
	}
	return list
}

// topicWarnings returns a warning for each topic. why says for whom its events wait, why and
// what to do.
func topicWarnings(topics []outbox.TopicStatus, why func(topic string) string) (list []string) {
	for n, t := range topics {
		if n == topicsShown {
			return append(list, plural(len(topics)-n, "more topic", "more topics")+" like these")
		}
		list = append(list, fmt.Sprintf("%s of %s, oldest %s: %s", plural(t.Events, "event", "events"), short(t.Topic, 60), t.Oldest.Round(time.Second), why(t.Topic)))
	}
	return list
}

// runs reports whether a process of the consumer runs.
func runs(known []*consumerState, consumer string) bool {
	return slices.ContainsFunc(known, func(c *consumerState) bool { return c.Consumer == consumer && c.Processes > 0 })
}

// unseenWarnings returns the subscriptions of running consumers that no process handles, and
// for which nothing waits.
func (m *Main) unseenWarnings(v statusView, subscribed []outbox.Subscription) (warnings []string) {
	for _, s := range subscribed {
		waits := slices.ContainsFunc(v.Outboxes, func(b boxView) bool {
			return b.Outbox == outbox.LineOf(s.Consumer) && slices.ContainsFunc(b.Topics, func(t outbox.TopicStatus) bool { return t.Topic == s.Topic })
		})
		if s.Age > outbox.Unseen && runs(v.Consumers, s.Consumer) && !waits {
			warnings = append(warnings, fmt.Sprintf("%s: no process has a local handler for the topic %s: deploy one, or %s",
				short(s.Consumer, 40), short(s.Topic, 60), m.command("subscription remove "+migrate.Quote(s.Consumer)+" "+migrate.Quote(s.Topic))))
		}
	}
	return warnings
}
