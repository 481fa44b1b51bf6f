package stranded

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/headrace/headrace/outbox"
)

// Log logs, once for each topic, that the local events of a consumer's handlers have no
// subscription. The zero value works, and is safe for concurrent use.
type Log struct {
	mu     sync.Mutex
	topics map[string]bool // that were looked at
}

const (
	// most bounds the topics that are looked at.
	most = 100
	// lookTime bounds the query for a topic.
	lookTime = time.Second
)

// Look looks at local events that a consumer has committed. It queries the database for
// topics that are new.
func (l *Log) Look(ctx context.Context, logger *slog.Logger, consumer string, s outbox.Subscriptions, events []outbox.Row) {
	topics := l.unseen(events)
	if len(topics) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTime)
	defer cancel()
	list, err := s.List(ctx, "")
	if err != nil {
		return // it is only a hint
	}
	for _, topic := range topics {
		if !slices.ContainsFunc(list, func(s outbox.Subscription) bool { return s.Topic == topic }) {
			logger.Warn("an event waits until a consumer of this database registers a local handler for its topic: this one has no Config.Sink, so nothing publishes it",
				"consumer", consumer, "topic", topic)
		}
	}
}

// unseen returns the topics of events that were not looked at before.
func (l *Log) unseen(events []outbox.Row) (topics []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range events {
		topic := events[i].Event.Topic
		if l.topics[topic] || len(l.topics) >= most {
			continue
		}
		if l.topics == nil {
			l.topics = make(map[string]bool)
		}
		l.topics[topic] = true
		topics = append(topics, topic)
	}
	return topics
}

// Unpublished logs the events of topics that wait in an outbox, if no process publishes it.
func Unpublished(ctx context.Context, logger *slog.Logger, consumer string, box outbox.Admin, topics []string) error {
	list, err := box.Topics(ctx, box.Name())
	if err != nil {
		return err
	}
	for _, t := range list {
		if !t.Published && slices.Contains(topics, t.Topic) {
			logger.Warn("events wait in the outbox, and no process publishes it: without a broker publish them with headrace.Event.Local, and give these to local handlers with headrace outbox local TOPIC",
				"consumer", consumer, "outbox", box.Name(), "topic", t.Topic, "events", t.Events, "oldest", t.Oldest)
		}
	}
	return nil
}
