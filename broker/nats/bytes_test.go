package nats_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/headrace/headrace/broker/brokertest"
	"github.com/headrace/headrace/broker/nats"
)

// MaxBytes bounds what a subscription holds, whether it is taken or not; what is
// larger comes alone; and all of it comes. Guards: subscription.ask, subscription.roomBytes.
func TestMaxBytes(t *testing.T) {
	t.Parallel()
	s := server{brokertest.Variable(t, variable, "nats")}
	topic := s.made(t, func(*jetstream.StreamConfig) {})
	at := nats.Server{URL: s.url}
	const all, size, most = 40, 100_000, 250_000
	sink := newSink(t, nats.SinkOptions{Server: at})
	for i := range all {
		payload := make([]byte, size)
		if i%10 == 5 {
			payload = make([]byte, 2*most)
		}
		if err := sink.Publish(topic, message.NewMessage(fmt.Sprint(i), payload)); err != nil {
			t.Fatal(err)
		}
	}
	source := newSource(t, nats.SourceOptions{Server: at, Durable: "d", MaxBytes: most})
	messages, err := source.Subscribe(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	one(t, messages, time.Minute).Ack()
	for i := 1; i < all; i++ {
		m := one(t, messages, time.Minute)
		if m.UUID != fmt.Sprint(i) {
			t.Fatalf("%s comes, want %d", m.UUID, i)
		}
		if held := s.pending(t, topic); held > most/size {
			t.Errorf("%d messages are held", held)
		} else if i%10 == 5 && held != 1 {
			t.Errorf("%d messages are held beside one that is larger than all may be", held-1)
		}
		m.Ack()
	}
	select {
	case m := <-messages:
		t.Errorf("%s comes again", m.UUID)
	default:
	}
}

// pending is how many messages are given out for topic and not acknowledged.
func (s server) pending(t *testing.T, topic string) (n int) {
	t.Helper()
	err := s.with(func(js jetstream.JetStream) error {
		st, err := js.Stream(t.Context(), topic)
		if err != nil {
			return err
		}
		for info := range st.ListConsumers(t.Context()).Info() {
			n += info.NumAckPending
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
