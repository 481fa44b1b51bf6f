package stranded

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/headrace/headrace/outbox"
)

// Log logs, once for each topic, that the local events of a consumer's handlers have no
// subscription. The zero value works, and is safe for concurrent use.
type Log struct {
	mu     sync.Mutex
	topics map[string]look
	// unpublished are the topics of which it is logged that nothing publishes them.
	unpublished map[string]bool
}

// look is the last look at a topic.
type look struct {
	at   time.Time
	told bool // it is logged, and not looked at any more
}

const (
	// most bounds the topics that are remembered.
	most = 100
	// lookEvery is the time between two looks at a topic: a subscription may be removed.
	lookEvery = time.Minute
	// young is the age of an event whose consumer may be about to start.
	young = 2 * time.Second
	// relayed is the age of an event whose relay may be about to start.
	relayed = 10 * time.Second
	// shown is how many topics a line lists at most.
	shown = 20
	// lookTime bounds the query for a topic.
	lookTime = time.Second
)

// Look looks at events that a consumer has committed. It queries the database for the topics
// of local ones, now and then. beside are the topics that consumers beside it are about to
// subscribe to.
func (l *Log) Look(ctx context.Context, logger *slog.Logger, s outbox.Subscriptions, beside map[string][]string, events []outbox.Row) {
	l.look(ctx, time.Now(), logger, s, beside, events)
}

func (l *Log) look(ctx context.Context, now time.Time, logger *slog.Logger, s outbox.Subscriptions, beside map[string][]string, events []outbox.Row) {
	topics := l.due(now, events)
	if len(topics) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTime)
	defer cancel()
	list, err := s.List(ctx, "")
	if err != nil { // it is only a hint: the next event looks again
		l.record(topics, look{})
		return
	}
	l.tell(now, logger, list, beside, topics)
}

// tell logs those of topics that have no subscription.
func (l *Log) tell(now time.Time, logger *slog.Logger, list []outbox.Subscription, beside map[string][]string, topics []string) {
	var taken []string
	for _, s := range list {
		taken = append(taken, s.Topic)
	}
	for _, more := range beside {
		taken = append(taken, more...)
	}
	slices.Sort(taken)
	taken = slices.Compact(taken)
	for _, topic := range topics {
		if slices.Contains(taken, topic) {
			continue
		}
		l.record([]string{topic}, look{now, true})
		logger.Warn("an event waits, and no consumer of this database has a local handler for its topic: register one with consumer.Local, correct the topic, or have it published by a Config.Sink, without Event.Local",
			"topic", topic, "local_topics", taken[:min(len(taken), shown)])
	}
}

// Unclaimed looks at the local events of all programs that wait because their topic has no
// subscription, as after a typing error in outbox.Publish or in the handler's topic. Young ones
// do not count: their consumer may be about to start.
func (l *Log) Unclaimed(ctx context.Context, logger *slog.Logger, s outbox.Subscriptions, box outbox.Admin) error {
	list, err := box.Topics(ctx, outbox.Unclaimed)
	if err != nil || len(list) == 0 {
		return err
	}
	var topics []string
	l.mu.Lock()
	for _, t := range list {
		if t.Oldest >= young && !l.topics[t.Topic].told && len(l.topics) < most {
			topics = append(topics, t.Topic)
		}
	}
	l.mu.Unlock()
	if len(topics) == 0 {
		return nil
	}
	subscriptions, err := s.List(ctx, "")
	if err == nil {
		l.tell(time.Now(), logger, subscriptions, nil, topics)
	}
	return err
}

// due returns the topics of local events that were not looked at for a while, and records
// that they are.
func (l *Log) due(now time.Time, events []outbox.Row) (topics []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range events {
		topic := events[i].Event.Topic
		last, known := l.topics[topic]
		if !events[i].Event.Local || last.told || now.Sub(last.at) < lookEvery {
			continue
		}
		if !known && len(l.topics) >= most {
			maps.DeleteFunc(l.topics, func(_ string, old look) bool { return !old.told && now.Sub(old.at) >= lookEvery })
			if len(l.topics) >= most {
				continue
			}
		}
		if l.topics == nil {
			l.topics = make(map[string]look)
		}
		l.topics[topic] = look{at: now}
		topics = append(topics, topic)
	}
	return topics
}

// record records a look at topics.
func (l *Log) record(topics []string, last look) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.topics == nil {
		l.topics = make(map[string]look)
	}
	for _, topic := range topics {
		l.topics[topic] = last
	}
}

// Unpublished logs, once for each topic, the events that wait in an outbox which no process publishes: those of
// topics, which are the local handlers', at once, and others, as of a mistyped one, when a relay would have come.
func (l *Log) Unpublished(ctx context.Context, logger *slog.Logger, box outbox.Admin, topics []string) error {
	list, err := box.Topics(ctx, box.Name())
	if err != nil {
		return err
	}
	for _, t := range l.untold(list, topics) {
		logger.Warn("events wait in the outbox, and no process publishes it: without a broker publish them with headrace.Event.Local, and give these to local handlers with headrace outbox local TOPIC",
			"outbox", box.Name(), "topic", t.Topic, "events", t.Events, "oldest", t.Oldest, "local_topics", topics[:min(len(topics), shown)])
	}
	return nil
}

// untold returns those of list that are to be logged, and records that they are. What has been published meanwhile is
// logged again when it waits once more.
func (l *Log) untold(list []outbox.TopicStatus, topics []string) (waits []outbox.TopicStatus) {
	l.mu.Lock()
	defer l.mu.Unlock()
	told := make(map[string]bool)
	for _, t := range list {
		switch {
		case t.Published, !slices.Contains(topics, t.Topic) && t.Oldest < relayed:
		case l.unpublished[t.Topic]:
			told[t.Topic] = true
		case len(waits) < shown:
			told[t.Topic] = true
			waits = append(waits, t)
		}
	}
	l.unpublished = told
	return waits
}
