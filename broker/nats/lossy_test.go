package nats_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/headrace/headrace/broker/brokertest"
	"github.com/headrace/headrace/broker/nats"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/outbox"
)

// made makes the stream of a new topic, as change says, and returns the topic.
func (s server) made(t *testing.T, change func(*jetstream.StreamConfig)) string {
	t.Helper()
	topic := newTopic()
	config := stream(topic)
	change(&config)
	err := s.with(func(js jetstream.JetStream) error {
		_, err := js.CreateStream(t.Context(), config)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return topic
}

// stored is how many messages the stream of topic has.
func (s server) stored(t *testing.T, topic string) (n uint64) {
	t.Helper()
	err := s.with(func(js jetstream.JetStream) error {
		st, err := js.Stream(t.Context(), topic)
		if err == nil {
			n = st.CachedInfo().State.Msgs
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func newSink(t *testing.T, o nats.SinkOptions) *nats.Sink {
	t.Helper()
	sink, err := nats.NewSink(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sink.Close() })
	return sink
}

// A stream that removes unhandled messages is refused by name, on both sides, unless an
// option accepts it; one that refuses when it is full is fine. Guard: finder.check.
//
//evidence:nats
func TestStreamsThatDropAreRefused(t *testing.T) {
	t.Parallel()
	s := server{brokertest.Variable(t, variable, "nats")}
	at := nats.Server{URL: s.url}
	for name, c := range map[string]struct {
		change func(*jetstream.StreamConfig)
		want   string
	}{
		"MaxMsgs":             {func(c *jetstream.StreamConfig) { c.MaxMsgs = 100 }, "MaxMsgs"},
		"MaxBytes":            {func(c *jetstream.StreamConfig) { c.MaxBytes = 1 << 20 }, "MaxBytes"},
		"MaxMsgsPerSubject":   {func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 5 }, "MaxMsgsPerSubject"},
		"per subject, others": {func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject, c.Discard = 5, jetstream.DiscardNew }, "MaxMsgsPerSubject"},
		"refuses when full":   {func(c *jetstream.StreamConfig) { c.MaxMsgs, c.Discard = 100, jetstream.DiscardNew }, ""},
		"refuses per subject": {func(c *jetstream.StreamConfig) {
			c.MaxMsgsPerSubject, c.Discard, c.DiscardNewPerSubject = 5, jetstream.DiscardNew, true
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			topic := s.made(t, c.change)
			check := newSource(t, nats.SourceOptions{Server: at, Durable: "d"}).Check(t.Context(), topic, consumer.Demands{})
			publish := newSink(t, nats.SinkOptions{Server: at}).Publish(topic, message.NewMessage("u", nil))
			for side, err := range map[string]error{"Source": check, "Sink": publish} {
				if (err != nil) != (c.want != "") || err != nil && !(strings.Contains(err.Error(), c.want) && strings.Contains(err.Error(), "UnsafeDiscard")) {
					t.Errorf("%s: error %v, want one about %q", side, err, c.want)
				}
			}
			source := newSource(t, nats.SourceOptions{Server: at, Durable: "d", UnsafeDiscard: true})
			if err := source.Check(t.Context(), topic, consumer.Demands{}); err != nil {
				t.Error(err)
			}
			if err := newSink(t, nats.SinkOptions{Server: at, UnsafeDiscard: true}).Publish(topic, message.NewMessage("u", nil)); err != nil {
				t.Error(err)
			}
		})
	}
}

// A full stream that refuses does not confirm.
func TestFullStreamRefuses(t *testing.T) {
	t.Parallel()
	s := server{brokertest.Variable(t, variable, "nats")}
	topic := s.made(t, func(c *jetstream.StreamConfig) { c.MaxMsgs, c.Discard = 1, jetstream.DiscardNew })
	sink := newSink(t, nats.SinkOptions{Server: nats.Server{URL: s.url}})
	if err := sink.Publish(topic, message.NewMessage("1", nil)); err != nil {
		t.Fatal(err)
	}
	if err := sink.Publish(topic, message.NewMessage("2", nil)); err == nil {
		t.Error("it confirms a message that is not stored")
	}
}

// A stream of the kind interest confirms and drops what no consumer is for. Guard:
// Sink.wanted.
func TestInterestWithoutConsumer(t *testing.T) {
	t.Parallel()
	s := server{brokertest.Variable(t, variable, "nats")}
	topic := s.made(t, func(c *jetstream.StreamConfig) {
		c.Retention, c.Subjects = jetstream.InterestPolicy, []string{c.Name, c.Name + ".>"}
	})
	at := nats.Server{URL: s.url}
	sink := newSink(t, nats.SinkOptions{Server: at})
	source := newSource(t, nats.SourceOptions{Server: at, Durable: "d"})
	if err := source.SubscribeInitialize(topic + ".other"); err != nil { // for another subject
		t.Fatal(err)
	}
	if err := sink.Publish(topic, message.NewMessage("1", nil)); err == nil || !strings.Contains(err.Error(), "interest") {
		t.Errorf("error %v, and %d messages stored", err, s.stored(t, topic))
	}
	if err := source.SubscribeInitialize(topic); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(sink.Publish(topic, message.NewMessage("1", nil)), sink.Publish(topic+".other", message.NewMessage("2", nil))); err != nil {
		t.Error(err)
	}
	if n := s.stored(t, topic); n != 2 {
		t.Errorf("%d messages are stored", n)
	}
}

// What differs is no repetition, and what the stream takes for one must still be there.
// Guard: repetitionID.
func TestRepetitions(t *testing.T) {
	t.Parallel()
	s := server{brokertest.Variable(t, variable, "nats")}
	topic := s.made(t, func(*jetstream.StreamConfig) {})
	sink := newSink(t, nats.SinkOptions{Server: nats.Server{URL: s.url}})
	m := func(payload, name, value string) *message.Message {
		m := message.NewMessage("same", []byte(payload))
		m.Metadata[name] = value
		return m
	}
	for _, step := range []struct {
		what string
		m    *message.Message
		want uint64
	}{
		{"the first", m("p", "type", "debit"), 1},
		{"a repetition", m("p", "type", "debit"), 1},
		{"other metadata", m("p", "type", "credit"), 2},
		{"another name", m("p", "kind", "credit"), 3},
		{"another payload", m("q", "type", "debit"), 4},
		{"metadata that no header holds", m("p", "type", "line\nbreak"), 5},
		{"other such", m("p", "type", "line\nbreaks"), 6},
		{"only the trace differs", func() *message.Message {
			m := m("p", "type", "debit")
			m.Metadata["traceparent"] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
			return m
		}(), 6},
	} {
		if err := sink.Publish(topic, step.m); err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		if n := s.stored(t, topic); n != step.want {
			t.Errorf("%s: %d messages are stored, want %d", step.what, n, step.want)
		}
	}
}

// What the stream takes for a repetition, and holds no more, is stored again. Guards:
// Sink.repeated, Sink.gone.
func TestRepetitionsThatAreGone(t *testing.T) {
	t.Parallel()
	s := server{brokertest.Variable(t, variable, "nats")}
	topic := s.made(t, func(*jetstream.StreamConfig) {})
	sink := newSink(t, nats.SinkOptions{Server: nats.Server{URL: s.url}})
	all := []*message.Message{message.NewMessage("1", nil), message.NewMessage("2", nil), message.NewMessage("3", nil)}
	if err := sink.Publish(topic, all...); err != nil {
		t.Fatal(err)
	}
	for i, remove := range []func(jetstream.Stream) error{
		func(st jetstream.Stream) error { return st.DeleteMsg(t.Context(), 2) },
		func(st jetstream.Stream) error { return st.Purge(t.Context()) },
	} {
		err := s.with(func(js jetstream.JetStream) error {
			st, err := js.Stream(t.Context(), topic)
			if err != nil {
				return err
			}
			return errors.Join(remove(st), sink.Publish(topic, all...))
		})
		if err != nil {
			t.Fatal(err)
		}
		if n := s.stored(t, topic); n != 3 {
			t.Errorf("removed in way %d, and published again: %d are stored", i, n)
		}
	}
}

// What the server, its stream or its bound of headers can never take is said to be too large.
//
//evidence:parked
func TestTooLarge(t *testing.T) {
	t.Parallel()
	s := server{brokertest.Variable(t, variable, "nats")}
	topic := s.made(t, func(c *jetstream.StreamConfig) { c.MaxMsgSize = 200_000 })
	sink := newSink(t, nats.SinkOptions{Server: nats.Server{URL: s.url}})
	wide := message.NewMessage("headers", nil)
	wide.Metadata.Set("header", strings.Repeat("x", 70_000))
	for _, m := range []*message.Message{
		wide, message.NewMessage("stream", make([]byte, 300_000)), message.NewMessage("server", make([]byte, 2<<20)),
	} {
		if err := sink.Publish(topic, m); !errors.Is(err, outbox.ErrTooLarge) {
			t.Errorf("%s: %v, want outbox.ErrTooLarge", m.UUID, err)
		}
	}
}
