package nats_test

import (
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
