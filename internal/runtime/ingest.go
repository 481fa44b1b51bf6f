package runtime

import (
	"context"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/dlq/from"
	"github.com/headrace/headrace/internal/subscription"
	"github.com/headrace/headrace/internal/task"
)

// Ingest is a dead-letter queue that a broker filled with messages of a handler.
type Ingest struct {
	// Queue is its name, and Source its subscriber.
	Queue  string
	Source message.Subscriber
	// Read reads what the broker says of a message.
	Read from.Reader
	// Check tests whether Source meets the handler's demands; may be nil.
	Check func(ctx context.Context) error

	sub *subscription.Subscription
}

// inlet is one of the subscriptions of a handler.
type inlet struct {
	topic  string
	source message.Subscriber
	check  func(ctx context.Context) error
	sub    *subscription.Subscription
	// task turns a message into a task; nil if it is a message of another consumer.
	task func(m *message.Message) *task.Task
}

// inlets returns the subscriptions of h. A local handler has none for its events.
func (h *Handler) inlets() (list []inlet) {
	if h.Source != nil {
		list = append(list, inlet{h.Topic, h.Source, h.Check, h.sub, func(m *message.Message) *task.Task { return h.Task(m, h.Topic, h.Source) }})
	}
	if in := h.Ingest; in != nil {
		list = append(list, inlet{in.Queue, in.Source, in.Check, in.sub, h.ingested})
	}
	return list
}

// ingested turns m, which the broker gave up, into a task that ends as a dead letter unless
// its message was taken before. It returns nil if m is a message of another consumer.
func (h *Handler) ingested(m *message.Message) *task.Task {
	t := h.received(m, h.Topic)
	death, ours := h.Ingest.Read(&t.Delivery)
	if !ours {
		return nil
	}
	h.identify(t, m, h.Ingest.Source)
	if t.Bad == nil {
		t.Bad = death
	} else {
		t.Bad = fmt.Errorf("%w; and: %w", death, t.Bad)
	}
	return t
}
