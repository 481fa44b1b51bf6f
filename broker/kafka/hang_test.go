package kafka_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/headrace/headrace/broker/kafka"
)

// A broker that falls silent after it was sent to does not keep Publish beyond Timeout, nor
// beyond the message's context; the error says that the outcome is unknown, and the
// sink goes on afterwards. Guard: call.wait.
func TestPublishEndsInSilence(t *testing.T) {
	b := setup(t, 1)
	w := newWire(t, b.addr)
	sink, err := kafka.NewSink(kafka.SinkOptions{Brokers: []string{b.addr}, Timeout: time.Second, Client: []kgo.Opt{through(w.addr())}})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.within(func() error { return sink.Publish(b.topic, message.NewMessage("", []byte("0"))) }); err != nil {
		t.Fatal(err)
	}
	w.cut()
	err = b.within(func() error {
		return sink.Publish(b.topic, message.NewMessage("", []byte("1")), message.NewMessage("", []byte("2")))
	})
	var failed *kafka.PublishError
	if !errors.As(err, &failed) || !errors.Is(err, kafka.ErrUnanswered) || failed.Errors[0] == nil || failed.Errors[1] == nil {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := message.NewMessage("", []byte("3"))
	m.SetContext(ctx)
	if err := b.within(func() error { return sink.Publish(b.topic, m) }); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	w.mend()
	b.eventually("it is published again", func() (string, bool) {
		err := sink.Publish(b.topic, message.NewMessage("", []byte("4")))
		return "", err == nil
	})
	messages, got := b.subscribe(b.source(nil)), map[string]bool{}
	for !got["4"] {
		for _, m := range b.receive(messages, 1) {
			got[string(m.Payload)] = true
			m.Ack()
		}
	}
	if !got["0"] {
		t.Errorf("the topic has %v: what was confirmed is missing", got)
	}
	if err := b.within(sink.Close); err != nil {
		t.Error(err)
	}
}

// within runs f, which returns within waitTimeout.
func (b *bundle) within(f func() error) error {
	b.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(waitTimeout / 2):
		b.Fatalf("not done after %s", waitTimeout/2)
		return nil
	}
}
