package consumer_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/internal/stranded"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
)

// A handler that publishes to a topic which neither a sink nor a consumer takes is said in
// the log, once. The event stays in the outbox.
func TestStrandedEventsAreLogged(t *testing.T) {
	for name, sink := range map[string]message.Publisher{"without a sink": nil, "local events beside a sink": &sink{}} {
		t.Run(name, func(t *testing.T) {
			onEachStore(t, func(b *bundle) {
				log := &lines{}
				config := b.config()
				config.Logger, config.Sink = slog.New(slog.NewTextHandler(log, nil)), sink
				c := b.consumer(config)
				consumer.Handle(c, topic, func(_ context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
					return tx.Publish(
						headrace.Event{Topic: "stranded", Payload: []byte(`{}`), Local: sink != nil},
						headrace.Event{Topic: "routed", Payload: []byte(`{"n": 1}`), Local: sink != nil},
					)
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
				if n := strings.Count(text, "an event waits"); n != 1 || !strings.Contains(text, "topic=stranded") {
					t.Errorf("%d times in the log that an event is stranded", n)
				}
				if t.Failed() {
					t.Log(text)
				}
			})
		})
	}
}

// lateStore is a store whose subscriptions are made when the test says so.
type lateStore struct {
	store.Store
	subscribe chan struct{}
}

func (s lateStore) Operations() store.Operations {
	o := s.Store.Operations()
	o.Subscriptions = lateSubscriptions{o.Subscriptions, s.subscribe}
	return o
}

type lateSubscriptions struct {
	outbox.Subscriptions
	subscribe chan struct{}
}

func (s lateSubscriptions) Subscribe(ctx context.Context, topics map[string][]string) error {
	select {
	case <-s.subscribe:
		return s.Subscriptions.Subscribe(ctx, topics)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A consumer that publishes before the one beside it has subscribed logs nothing: the event
// is taken.
func TestEventsForAConsumerBesideAreNotStranded(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		log := &lines{}
		st := lateStore{b.st, make(chan struct{})}
		named := func(name string, source message.Subscriber) *consumer.Consumer {
			config := b.config()
			config.Logger, config.Source = slog.New(slog.NewTextHandler(log, nil)), source
			c, err := consumer.New(name, st, config)
			if err != nil {
				b.Fatal(err)
			}
			return c
		}
		from, to := named("from", b.src), named("to", nil)
		consumer.Handle(from, topic, func(_ context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			return tx.Publish(headrace.Event{Topic: "routed", Payload: []byte(`{"n": 1}`)})
		})
		consumer.Handle(to, "routed", insert, consumer.Local())
		ctx, stop := context.WithCancel(b.Context())
		ended := make(chan error, 1)
		go func() { ended <- consumer.Run(ctx, from, to) }()
		b.acked(b.deliver("one", `{}`))
		close(st.subscribe)
		b.eventually("it is taken", func() bool { return b.count("SELECT count(*) FROM headrace_outbox") == 0 })
		stop()
		if err := <-ended; err != nil {
			b.Error(err)
		}
		if text := log.String(); strings.Contains(text, "an event waits") {
			b.Errorf("logged: %s", text)
		}
	})
}

// startLocal starts a consumer of local events, and returns its logger and what that writes.
func (b *bundle) startLocal() (*consumer.Consumer, *slog.Logger, *lines) {
	b.Helper()
	log := &lines{}
	config := b.local()
	config.Logger = slog.New(slog.NewTextHandler(log, nil))
	c := b.consumer(config)
	consumer.Handle(c, topic, insert, consumer.Local())
	b.start(c)
	return c, config.Logger, log
}

// Events that wait in an outbox which no process publishes are said in the log of a consumer
// that would get them if they were local; it is silent where a process publishes.
func TestUnpublishedEventsAreLogged(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		b.publish(headrace.Event{Topic: topic, Value: body{1}}, headrace.Event{Topic: "other", Value: body{2}})
		_, logger, log := b.startLocal()
		b.eventually("it is logged", func() bool { return strings.Contains(log.String(), "no process publishes it") })
		if err := b.halt(); err != nil {
			t.Error(err)
		}
		text := log.String()
		if strings.Count(text, "no process publishes it") != 1 || !strings.Contains(text, "topic="+topic+" events=1") || !strings.Contains(text, "headrace outbox local") {
			t.Errorf("logged: %s", text)
		}
		relay := outbox.Relay{ID: "r", Outbox: b.st.Outbox().Name(), Sink: "s", Consumers: []string{"c"}}
		if _, err := b.st.Operations().Relays.Serve(b.Context(), relay, time.Minute); err != nil {
			b.Fatal(err)
		}
		if err := new(stranded.Log).Unpublished(b.Context(), logger, b.st.Outbox(), []string{topic}); err != nil || log.String() != text {
			t.Errorf("with a relay: %v, %s", err, log.String())
		}
	})
}

// A consumer that runs already logs an event that nobody publishes within half a minute.
func TestUnpublishedEventsAreLoggedSoon(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		c, _, log := b.startLocal()
		b.eventually("Ready", func() bool { return c.Ready() == nil })
		b.publish(headrace.Event{Topic: "mistyped", Value: body{1}})
		began := time.Now()
		b.eventually("it is logged", func() bool { return strings.Contains(log.String(), "no process publishes it") })
		if took := time.Since(began); took > 30*time.Second {
			b.Errorf("it took %s", took)
		}
		if err := b.halt(); err != nil {
			t.Error(err)
		}
	})
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
