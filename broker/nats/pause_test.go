package nats_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/headrace/headrace/broker/brokertest"
	"github.com/headrace/headrace/broker/nats"
)

// A paused Source asks for nothing: no request stands at the server, and what is published
// is not even delivered and given back. Guard: ask.
func TestPauseAsksForNothing(t *testing.T) {
	s := server{brokertest.Variable(t, variable, "nats")}
	topic := newTopic()
	if err := s.Create(t.Context(), topic); err != nil {
		t.Fatal(err)
	}
	source := newSource(t, nats.SourceOptions{Server: nats.Server{URL: s.url}, Durable: "d", NackDelay: 10 * time.Millisecond})
	messages, err := source.Subscribe(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	s.waits(t, topic, 1)
	source.Pause(topic)
	s.waits(t, topic, 0) // the last request ends within two seconds
	if err := s.Send(t.Context(), topic, brokertest.Record{Payload: []byte("1")}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond) // for what must not happen
	if info := s.info(t, topic); info.Delivered.Consumer != 0 || info.NumPending != 1 {
		t.Errorf("delivered %d times, %d pending", info.Delivered.Consumer, info.NumPending)
	}
	source.Resume(topic)
	select {
	case m := <-messages:
		m.Ack()
	case <-time.After(30 * time.Second):
		t.Error("no message comes")
	}
}

// A consumer that an operator paused on the server gives no messages and ends requests as if
// there were none: it is not healthy, until it is resumed. Guard: suspension.
func TestAPausedConsumerIsNotHealthy(t *testing.T) {
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
	change := func(f func(js jetstream.JetStream, name string) error) {
		t.Helper()
		if err := s.with(func(js jetstream.JetStream) error { return f(js, s.info(t, topic).Name) }); err != nil {
			t.Fatal(err)
		}
	}
	brokertest.AwaitHealthy(t, source, topic, true)
	change(func(js jetstream.JetStream, name string) error {
		_, err := js.PauseConsumer(t.Context(), topic, name, time.Now().Add(time.Hour))
		return err
	})
	brokertest.AwaitHealthy(t, source, topic, false)
	if err := source.Healthy(t.Context(), topic); err == nil || !strings.Contains(err.Error(), "nats consumer resume "+topic+" d_") {
		t.Errorf("the error is %v", err)
	}
	if err := s.Send(t.Context(), topic, brokertest.Record{Payload: []byte("1")}); err != nil {
		t.Fatal(err)
	}
	change(func(js jetstream.JetStream, name string) error {
		_, err := js.ResumeConsumer(t.Context(), topic, name)
		return err
	})
	brokertest.AwaitHealthy(t, source, topic, true)
	select {
	case m := <-messages:
		m.Ack()
	case <-time.After(30 * time.Second):
		t.Error("no message comes")
	}
}

func (s server) info(t *testing.T, topic string) (info *jetstream.ConsumerInfo) {
	t.Helper()
	err := s.with(func(js jetstream.JetStream) error {
		st, err := js.Stream(t.Context(), topic)
		if err != nil {
			return err
		}
		for name := range st.ConsumerNames(t.Context()).Name() {
			c, err := st.Consumer(t.Context(), name)
			if err != nil {
				return err
			}
			info = c.CachedInfo()
		}
		return nil
	})
	if err != nil || info == nil {
		t.Fatalf("consumer of %s: %v, %v", topic, info, err)
	}
	return info
}

// waits waits until n requests stand at the server.
func (s server) waits(t *testing.T, topic string, n int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		info := s.info(t, topic)
		if info.NumWaiting == n {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d requests stand at the server, want %d", info.NumWaiting, n)
		}
	}
}
