package watching

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/alerts/condition"
	"github.com/headrace/headrace/outbox"
)

// stalledTopics are those whose events have waited on the line of a consumer for some minutes, where no
// process has had a handler for the topic for as long: a rolling deployment takes less.
func (w *Watch) stalledTopics(ctx context.Context) (map[string][]outbox.TopicStatus, error) {
	list, err := w.o.Store.Operations().Subscriptions.List(ctx, "")
	if err != nil {
		return nil, err
	}
	unseen := make(map[string][]string) // topics by consumer
	for _, s := range list {
		if s.Age >= outbox.Unseen {
			unseen[s.Consumer] = append(unseen[s.Consumer], s.Topic)
		}
	}
	stalled := make(map[string][]outbox.TopicStatus)
	for consumer, topics := range unseen {
		waiting, err := w.o.Store.Outbox().Topics(ctx, outbox.LineOf(consumer))
		if err != nil {
			return nil, err
		}
		for _, t := range waiting {
			if t.Oldest >= outbox.Unseen && slices.Contains(topics, t.Topic) {
				stalled[consumer] = append(stalled[consumer], t)
			}
		}
	}
	return stalled, nil
}

// lines are those of consumers whose events no process takes.
func (f *facts) lines() (list []condition.Finding) {
	if !f.deep {
		for _, c := range f.current {
			if c.Kind == alerts.SubscriptionStalled {
				list = append(list, condition.Finding{Alert: c.Alert, Unchanged: true})
			}
		}
		return list
	}
	for _, name := range slices.Sorted(maps.Keys(f.stalled)) {
		c := finding(alerts.SubscriptionStalled, alerts.Error, name)
		c.Count = 0
		for _, t := range f.stalled[name] {
			c.Count += t.Events
		}
		list = append(list, say(c, fmt.Sprintf("%s: %s of %s, and no process has had a handler for them for %s", name, plural(c.Count, "local event waits", "local events wait"),
			f.stalled[name][0].Topic, outbox.Unseen), "", "headrace status"))
	}
	return list
}
