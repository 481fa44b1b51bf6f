package nats_test

import (
	"strings"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"github.com/headrace/headrace/broker/brokertest"
	"github.com/headrace/headrace/broker/nats"
)

func one(t *testing.T, messages <-chan *message.Message, within time.Duration) *message.Message {
	t.Helper()
	select {
	case m := <-messages:
		return m
	case <-time.After(within):
		t.Fatal("no message comes")
		return nil
	}
}

// Fault 57, an acknowledgement that gets lost on its way: it is sent again until the server
// confirms it, and the message does not come again after AckWait. Guard: ack.
//
//evidence:nats
func TestLostAcknowledgementIsSentAgain(t *testing.T) {
	t.Parallel()
	s := server{brokertest.Variable(t, variable, "nats")}
	topic := newTopic()
	if err := s.Create(t.Context(), topic); err != nil {
		t.Fatal(err)
	}
	p := toxiproxy.NewProxy(toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()), topic, "127.0.0.1:0", s.Addr())
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	source := newSource(t, nats.SourceOptions{Server: nats.Server{URL: s.at(p.Listen)}, Durable: "d", AckWait: 5 * time.Minute})
	messages, err := source.Subscribe(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Send(t.Context(), topic, brokertest.Record{Payload: []byte("1")}); err != nil {
		t.Fatal(err)
	}
	m := one(t, messages, time.Minute)
	if _, err := p.Toxics.AddToxicJson(strings.NewReader(`{"type":"timeout","stream":"upstream","attributes":{"timeout":0}}`)); err != nil {
		t.Fatal(err)
	}
	m.Ack()
	time.Sleep(500 * time.Millisecond) // so that it is sent, and swallowed
	p.Toxics.ResetToxics(t.Context())
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if left, err := s.Left(t.Context(), topic); err == nil && left == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the server still waits for the acknowledgement")
		}
	}
}

// What a Source holds when it is closed is given back at once, not after AckWait. Guards:
// end, giveBackLate.
func TestCloseGivesBack(t *testing.T) {
	t.Parallel()
	s := server{brokertest.Variable(t, variable, "nats")}
	topic := newTopic()
	if err := s.Create(t.Context(), topic); err != nil {
		t.Fatal(err)
	}
	o := nats.SourceOptions{Server: nats.Server{URL: s.url}, Durable: "d", AckWait: 5 * time.Minute, NackDelay: 5 * time.Minute}
	first := newSource(t, o)
	messages, err := first.Subscribe(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	var records []brokertest.Record
	for range 3 {
		records = append(records, brokertest.Record{Payload: []byte("1")})
	}
	if err := s.Send(t.Context(), topic, records...); err != nil {
		t.Fatal(err)
	}
	one(t, messages, time.Minute) // and the others stand in the queue
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if messages, err = newSource(t, o).Subscribe(t.Context(), topic); err != nil {
		t.Fatal(err)
	}
	for range records {
		one(t, messages, time.Minute).Ack()
	}
}

// An answer counts, also where the Source is closed at the same moment. Guard: settle.
func TestAckBeforeClose(t *testing.T) {
	t.Parallel()
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
	var records []brokertest.Record
	for range 100 {
		records = append(records, brokertest.Record{Payload: []byte("1")})
	}
	if err := s.Send(t.Context(), topic, records...); err != nil {
		t.Fatal(err)
	}
	var held []*message.Message
	for range records {
		held = append(held, one(t, messages, time.Minute))
	}
	for _, m := range held {
		m.Ack()
	}
	if err := source.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := s.Left(t.Context(), topic); err != nil || left != 0 {
		t.Errorf("%d are left, %v", left, err)
	}
}

// Rule: what the stream refuses is an error of Publish; here it is told after the send.
// Guard: publish.
func TestRefusedByTheStream(t *testing.T) {
	t.Parallel()
	s := server{brokertest.Variable(t, variable, "nats")}
	topic := newTopic()
	config := stream(topic)
	config.MaxMsgSize = 500
	if err := s.with(func(js jetstream.JetStream) error {
		_, err := js.CreateStream(t.Context(), config)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	sink, err := s.Sink("")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sink.Close() }()
	small, large := message.NewMessage("1", []byte("x")), message.NewMessage("2", make([]byte, 1000))
	if err := sink.Publish(topic, small); err != nil {
		t.Error(err)
	}
	if err := sink.Publish(topic, small, large, small); err == nil {
		t.Error("a message above MaxMsgSize is no error")
	}
}

// Rule: ended subscriptions are reported, also where nothing was asked for when the stream
// was removed. Guard: isMissing.
func TestRemovedDuringAPause(t *testing.T) {
	t.Parallel()
	s := server{brokertest.Variable(t, variable, "nats")}
	topic := newTopic()
	if err := s.Create(t.Context(), topic); err != nil {
		t.Fatal(err)
	}
	source := newSource(t, nats.SourceOptions{Server: nats.Server{URL: s.url}, Durable: "d"})
	source.Pause(topic)
	messages, err := source.Subscribe(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Features().Delete(t.Context(), topic); err != nil {
		t.Fatal(err)
	}
	source.Resume(topic)
	select {
	case m, ok := <-messages:
		if ok {
			t.Errorf("a message of a removed stream: %v", m)
		}
	case <-time.After(time.Minute):
		t.Error("the subscription does not end")
	}
}
