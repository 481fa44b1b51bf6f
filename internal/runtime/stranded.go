package runtime

import (
	"context"
	"sync"

	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/outbox/relay"
	"github.com/headrace/headrace/store/txn"
)

// stranded logs, once for each topic, that a handler's events stay in the outbox, as far
// as this process can know. The zero value works, and is safe for concurrent use.
type stranded struct {
	mu     sync.Mutex
	topics map[string]bool // that were looked at
}

// strandedMost bounds the topics that are looked at.
const strandedMost = 100

func (s *stranded) look(rt *Runtime, events []outbox.Row) {
	if rt.Sink != nil || len(events) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range events {
		topic := events[i].Event.Topic
		if s.topics[topic] || len(s.topics) >= strandedMost {
			continue
		}
		if s.topics == nil {
			s.topics = make(map[string]bool)
		}
		s.topics[topic] = true
		if !relay.Takes(rt.Store, topic) {
			rt.Logger.Warn("an event stays in the outbox unless another process publishes it: here is neither a Config.Sink nor a route for its topic",
				"consumer", rt.Name, "topic", topic, "outbox", rt.Store.Outbox().Name())
		}
	}
}

// Commit implements store.Store.
func (s boundedStore) Commit(ctx context.Context, t *txn.Txn, events []outbox.Row) error {
	err := s.Store.Commit(ctx, t, events)
	if err == nil {
		s.rt.stranded.look(s.rt, events)
	}
	return err
}
