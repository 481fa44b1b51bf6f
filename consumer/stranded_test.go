package consumer_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
)

// A handler without a sink that publishes to a topic that no consumer takes is said in the
// log, once. The event stays in the outbox.
func TestStrandedEventsAreLogged(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		log := &lines{}
		config := b.config()
		config.Logger = slog.New(slog.NewTextHandler(log, nil))
		c := b.consumer(config)
		consumer.Handle(c, topic, func(_ context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			return tx.Publish(headrace.Event{Topic: "stranded", Payload: []byte(`{}`)}, headrace.Event{Topic: "routed", Payload: []byte(`{"n": 1}`)})
		})
		consumer.Handle(c, "routed", insert, consumer.Local())
		b.start(c)
		b.eventually("Ready", func() bool { return c.Ready() == nil })
		for _, id := range []string{"one", "two", "three"} {
			b.acked(b.deliver(id, `{}`))
		}
		b.eventually("only the stranded events are in the outbox", func() bool { return b.count("SELECT count(*) FROM headrace_outbox") == 3 })
		if err := b.halt(); err != nil {
			t.Error(err)
		}
		text := log.String()
		if n := strings.Count(text, "an event waits until a consumer"); n != 1 || !strings.Contains(text, "topic=stranded") {
			t.Errorf("%d times in the log that an event is stranded", n)
		}
		if t.Failed() {
			t.Log(text)
		}
	})
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
