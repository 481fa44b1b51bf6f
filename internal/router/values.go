package router

import (
	"context"
	"sync"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/headrace/headrace/internal/task"
)

// routerContext returns ctx with the values that a Router puts into a message's context:
// the handler's name and topics. Only a Router can set them, so a small Router of our own
// delivers one message for each pair of topics.
func (h *handler) routerContext(ctx context.Context, subscribe, publish string) context.Context {
	topics := [2]string{subscribe, publish}
	values, ok := h.values.Load(topics)
	if !ok {
		values, _ = h.values.LoadOrStore(topics, routerValues(h.Name, subscribe, publish))
	}
	return task.WithValues(ctx, values.(context.Context))
}

// routerValues returns the context of a message from a Router.
func routerValues(name, subscribe, publish string) context.Context {
	values := context.Background()
	router := message.NewDefaultRouter(watermill.NopLogger{})
	router.AddHandler(name, subscribe, oneMessage{}, publish, nil, func(m *message.Message) ([]*message.Message, error) {
		values = m.Context()
		return nil, nil
	})
	_ = router.Run(values) // it returns after the handler, when the only subscription has ended
	return values
}

// oneMessage delivers one message to each subscription.
type oneMessage struct{}

// Subscribe implements message.Subscriber.
func (oneMessage) Subscribe(context.Context, string) (<-chan *message.Message, error) {
	messages := make(chan *message.Message, 1)
	messages <- message.NewMessage("", nil)
	close(messages)
	return messages, nil
}

// Close implements message.Subscriber.
func (oneMessage) Close() error { return nil }

// recent stores the newest ids. The zero value is empty; it is safe for concurrent use.
type recent struct {
	mu       sync.Mutex
	new, old map[string]struct{}
}

const maxRecent = 4096 // in each of the two

func (r *recent) add(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.new == nil || len(r.new) >= maxRecent {
		r.new, r.old = make(map[string]struct{}), r.new
	}
	r.new[id] = struct{}{}
}

func (r *recent) remove(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.new, id)
	delete(r.old, id)
}

func (r *recent) has(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, in := r.new[id]
	_, before := r.old[id]
	return in || before
}
