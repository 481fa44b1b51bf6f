package consumer_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/outbox/relay"
)

// A handler that publishes where no relay takes its event, and a local handler that no
// route names, are said in the log, once each. The event stays in the outbox.
func TestStrandedEventsAreLogged(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		log := &lines{}
		config := b.config()
		config.Logger = slog.New(slog.NewTextHandler(log, nil))
		config.Routes = []relay.Route{{Topic: "routed", Handler: "named"}}
		c := b.consumer(config)
		consumer.Handle(c, topic, func(_ context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			return tx.Publish(headrace.Event{Topic: "stranded", Payload: []byte(`{}`)}, headrace.Event{Topic: "routed", Payload: []byte(`{"n": 1}`)})
		})
		consumer.Handle(c, "named", insert, consumer.Local())
		consumer.Handle(c, "forgotten", insert, consumer.Local())
		b.start(c)
		for _, id := range []string{"one", "two", "three"} {
			b.acked(b.deliver(id, `{}`))
		}
		b.eventually("only the stranded events are in the outbox", func() bool { return b.count("SELECT count(*) FROM headrace_outbox") == 3 })
		if err := b.halt(); err != nil {
			t.Error(err)
		}
		text := log.String()
		if n := strings.Count(text, "an event stays in the outbox"); n != 1 || !strings.Contains(text, "topic=stranded") {
			t.Errorf("%d times in the log that an event is stranded", n)
		}
		if n := strings.Count(text, "no route of Config.Routes"); n != 1 || !strings.Contains(text, "handler=forgotten") {
			t.Errorf("%d times in the log that a local handler has no route", n)
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
