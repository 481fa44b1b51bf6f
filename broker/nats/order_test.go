package nats_test

import (
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/broker/brokertest"
)

// The order key of an event travels along, whatever signs are in it. Guard: orderKey.
func TestOrderKeyTravels(t *testing.T) {
	t.Parallel()
	s := server{brokertest.Variable(t, variable, "nats")}
	topic := newTopic()
	if err := s.Create(t.Context(), topic); err != nil {
		t.Fatal(err)
	}
	sink, err := s.Sink("")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sink.Close() }()
	const key = "a key: ü\r\n%"
	sent := message.NewMessage("1", []byte("x"))
	sent.SetContext(headrace.WithArrival(t.Context(), headrace.Arrival{OrderKey: key}))
	if err := sink.Publish(topic, sent); err != nil {
		t.Fatal(err)
	}
	source, err := s.Source("")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = source.Close() }()
	messages, err := source.Subscribe(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	m := one(t, messages, time.Minute)
	m.Ack()
	if got := headrace.ArrivalFrom(m.Context()).OrderKey; got != key {
		t.Errorf("order key %q, want %q", got, key)
	}
}
