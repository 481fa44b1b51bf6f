package consumer_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/internal/stranded"
	"github.com/headrace/headrace/outbox"
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

// Events that wait in an outbox which no process publishes are said in the log of a consumer
// that would get them if they were local; it is silent where a process publishes.
func TestUnpublishedEventsAreLogged(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		b.publish(headrace.Event{Topic: topic, Value: body{1}}, headrace.Event{Topic: "other", Value: body{2}})
		log := &lines{}
		config := b.local()
		config.Logger = slog.New(slog.NewTextHandler(log, nil))
		c := b.consumer(config)
		consumer.Handle(c, topic, insert, consumer.Local())
		b.start(c)
		b.eventually("it is logged", func() bool { return strings.Contains(log.String(), "no process publishes it") })
		if err := b.halt(); err != nil {
			t.Error(err)
		}
		text := log.String()
		if strings.Count(text, "no process publishes it") != 1 || !strings.Contains(text, "topic="+topic+" events=1") || !strings.Contains(text, "headrace outbox local") {
			t.Errorf("logged: %s", text)
		}
		relay := outbox.Relay{ID: "r", Outbox: b.st.Outbox().Name(), Sink: "s"}
		if _, err := b.st.Operations().Relays.Serve(b.Context(), relay, time.Minute); err != nil {
			b.Fatal(err)
		}
		if err := stranded.Unpublished(b.Context(), config.Logger, "test", b.st.Outbox(), []string{topic}); err != nil || log.String() != text {
			t.Errorf("with a relay: %v, %s", err, log.String())
		}
	})
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
