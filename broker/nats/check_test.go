package nats_test

import (
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/headrace/headrace/broker/brokertest"
	"github.com/headrace/headrace/broker/nats"
	"github.com/headrace/headrace/consumer"
)

func newTopic() string { return "hr-check-" + strings.ToLower(rand.Text()[:10]) }

// Fault 57, and the checks of TRAPS ("the broker's delivery limit above our attempts"): what
// is on the server is read from it. Guard: Source.acceptable.
func TestCheck(t *testing.T) {
	s := server{brokertest.Variable(t, variable, "nats")}
	for name, c := range map[string]struct {
		change func(*jetstream.ConsumerConfig)
		want   string // in the error; "" means none
	}{
		"fine":       {func(*jetstream.ConsumerConfig) {}, ""},
		"enough":     {func(c *jetstream.ConsumerConfig) { c.MaxDeliver = 10 }, ""},
		"MaxDeliver": {func(c *jetstream.ConsumerConfig) { c.MaxDeliver = 3 }, "MaxDeliver"},
		"AckWait":    {func(c *jetstream.ConsumerConfig) { c.AckWait = 100 * time.Millisecond }, "AckWait"},
		"BackOff": {func(c *jetstream.ConsumerConfig) {
			c.BackOff = []time.Duration{time.Millisecond, time.Minute}
			c.MaxDeliver = 10
		}, "BackOff"},
		"AckPolicy":   {func(c *jetstream.ConsumerConfig) { c.AckPolicy = jetstream.AckAllPolicy }, "AckPolicy"},
		"other topic": {func(c *jetstream.ConsumerConfig) { c.FilterSubject = "other" }, "subjects"},
		"HeadersOnly": {func(c *jetstream.ConsumerConfig) { c.HeadersOnly = true }, "HeadersOnly"},
		"push":        {func(c *jetstream.ConsumerConfig) { c.DeliverSubject = "somewhere" }, "pull consumer"},
	} {
		t.Run(name, func(t *testing.T) {
			topic := newTopic()
			config := jetstream.ConsumerConfig{
				Durable: "check_" + topic, FilterSubject: topic, AckPolicy: jetstream.AckExplicitPolicy, AckWait: 30 * time.Second, MaxDeliver: -1,
			}
			c.change(&config)
			err := s.with(func(js jetstream.JetStream) error {
				st := stream(topic)
				st.Subjects = append(st.Subjects, topic+".more")
				if config.FilterSubject == "other" {
					config.FilterSubject = topic + ".more"
				}
				if _, err := js.CreateStream(t.Context(), st); err != nil {
					return err
				}
				var err error
				if config.DeliverSubject != "" {
					_, err = js.CreatePushConsumer(t.Context(), topic, config)
				} else {
					_, err = js.CreateConsumer(t.Context(), topic, config)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			source := newSource(t, nats.SourceOptions{Server: nats.Server{URL: s.url}, Durable: "check"})
			err = source.Check(t.Context(), topic, consumer.Demands{Deliveries: 10})
			if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func newSource(t *testing.T, o nats.SourceOptions) *nats.Source {
	t.Helper()
	source, err := nats.NewSource(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = source.Close() })
	return source
}

// Streams that lose what they confirmed, or confirm nothing, are refused. Guard:
// finder.check.
func TestStreamsAreRefused(t *testing.T) {
	s := server{brokertest.Variable(t, variable, "nats")}
	at := nats.Server{URL: s.url}
	for name, change := range map[string]func(*jetstream.StreamConfig){
		"memory": func(c *jetstream.StreamConfig) { c.Storage = jetstream.MemoryStorage },
		"NoAck":  func(c *jetstream.StreamConfig) { c.NoAck = true },
		"async":  func(c *jetstream.StreamConfig) { c.PersistMode = jetstream.AsyncPersistMode },
	} {
		t.Run(name, func(t *testing.T) {
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
			if err := newSource(t, nats.SourceOptions{Server: at, Durable: "d"}).Check(t.Context(), topic, consumer.Demands{}); err == nil {
				t.Error("the Source takes it")
			}
			sink, err := nats.NewSink(nats.SinkOptions{Server: at})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = sink.Close() }()
			if err := sink.Publish(topic, message.NewMessage("u", nil)); err == nil {
				t.Error("the Sink takes it")
			}
		})
	}
}

func TestOptionsAreRefused(t *testing.T) {
	at := nats.Server{URL: "nats://127.0.0.1:1"}
	for name, o := range map[string]nats.SourceOptions{
		"Durable": {Server: at}, "Durable is": {Server: at, Durable: "a.b"}, "Window": {Server: at, Durable: "d", Window: -1},
		"AckWait": {Server: at, Durable: "d", AckWait: 30}, "NackDelay": {Server: at, Durable: "d", NackDelay: 1}, "URL or Conn": {Durable: "d"},
		"MaxAckPending": {Server: at, Durable: "d", MaxAckPending: -1},
	} {
		if _, err := nats.NewSource(o); err == nil || !strings.Contains(err.Error(), "option "+name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	theirs := nats.Server{Conn: new(natsgo.Conn), Options: []natsgo.Option{natsgo.Name("x")}}
	for name, o := range map[string]nats.SinkOptions{
		"Options":   {Server: theirs},
		"Provision": {Server: at, UnsafeUnchecked: true, Provision: func(string) jetstream.StreamConfig { return jetstream.StreamConfig{} }},
	} {
		if _, err := nats.NewSink(o); err == nil || !strings.Contains(err.Error(), "option "+name+":") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNoStream(t *testing.T) {
	s := server{brokertest.Variable(t, variable, "nats")}
	source := newSource(t, nats.SourceOptions{Server: nats.Server{URL: s.url}, Durable: "d"})
	if _, err := source.Subscribe(t.Context(), newTopic()); !errors.Is(err, nats.ErrNoStream) {
		t.Error(err)
	}
	if _, err := source.Subscribe(t.Context(), "no subject"); err == nil {
		t.Error("no error")
	}
}

// The window of the inbox comes from the stream's MaxAge, where that is known. Guard:
// TopicRetention.
func TestRetention(t *testing.T) {
	s := server{brokertest.Variable(t, variable, "nats")}
	topic := newTopic()
	if err := s.Create(t.Context(), topic); err != nil {
		t.Fatal(err)
	}
	o := nats.SourceOptions{Server: nats.Server{URL: s.url}, Durable: "d"}
	for _, stream := range []string{"", topic} {
		o.Stream = stream
		if d := newSource(t, o).TopicRetention(topic); d != time.Hour {
			t.Errorf("option Stream %q: %s, want %s", stream, d, time.Hour)
		}
	}
	o.Stream = ""
	if d := newSource(t, o).TopicRetention(newTopic()); d != 0 {
		t.Errorf("without a stream: %s", d)
	}
}

// A subscription whose stream is removed ends, so that the consumer says so.
func TestSubscriptionEndsWithItsStream(t *testing.T) {
	s := server{brokertest.Variable(t, variable, "nats")}
	topic := newTopic()
	if err := s.Create(t.Context(), topic); err != nil {
		t.Fatal(err)
	}
	source := newSource(t, nats.SourceOptions{Server: nats.Server{URL: s.url}, Durable: "d"})
	messages, err := source.Subscribe(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Features().Delete(t.Context(), topic); err != nil {
		t.Fatal(err)
	}
	select {
	case _, open := <-messages:
		if open {
			t.Error("a message came")
		}
	case <-time.After(30 * time.Second):
		t.Error("the channel is open")
	}
}
