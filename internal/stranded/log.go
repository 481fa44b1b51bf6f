package stranded

import (
	"log/slog"
	"slices"
	"sync"

	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/outbox/relay"
)

// Log logs, once for each topic, that the events of a consumer's handlers stay in the
// outbox. The zero value works, and is safe for concurrent use.
type Log struct {
	mu     sync.Mutex
	topics map[string]bool // that were looked at
}

// most bounds the topics that are looked at.
const most = 100

// Look looks at events that a consumer without a sink has committed.
func (l *Log) Look(logger *slog.Logger, consumer string, st relay.Store, events []outbox.Row) {
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
		if !relay.Takes(st, topic) {
			logger.Warn("an event stays in the outbox unless another process publishes it: here is neither a Config.Sink nor a route for its topic",
				"consumer", consumer, "topic", topic, "outbox", st.Outbox().Name())
		}
	}
}

// Local logs that no route names a local handler. Another process may have one.
func Local(logger *slog.Logger, h *task.Handler, routes []relay.Route) {
	if !slices.ContainsFunc(routes, func(r relay.Route) bool { return r.Consumer == h.Consumer && r.Handler == h.Name }) {
		logger.Warn("no route of Config.Routes names this local handler: it gets events only if another process has one",
			"consumer", h.Consumer, "handler", h.Name, "topic", h.Topic)
	}
}
