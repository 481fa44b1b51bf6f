package kafka_test

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/broker/kafka"
)

// sink is a sink, closed at the end.
func (b *bundle) sink() *kafka.Sink {
	b.Helper()
	s, err := kafka.NewSink(kafka.SinkOptions{Brokers: []string{b.addr}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Errorf("close: %v", err)
		}
	})
	return s
}

// What the sink publishes reads well for another program: the order key is the record's
// key, metadata are headers, and the UUID is Watermill's header.
func TestASinksRecords(t *testing.T) {
	b := setup(t, 1)
	m := message.NewMessage("uuid-1", []byte("payload"))
	m.Metadata["name"] = "value"
	m.Metadata[kafka.UUIDHeader] = "forged"
	m.SetContext(headrace.WithArrival(t.Context(), headrace.Arrival{OrderKey: "customer"}))
	bare := message.NewMessage("", nil)
	if err := b.sink().Publish(b.topic, m, bare); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, "kcat", "-C", "-q", "-b", b.addr, "-t", b.topic, "-c", "2", "-f", `%k|%s|%S|%h\n`).Output()
	if err != nil {
		t.Fatal(err)
	}
	want := "customer|payload|7|_watermill_message_uuid=uuid-1,name=value\n||-1|\n"
	if string(out) != want {
		t.Errorf("kcat reads\n%swant\n%s", out, want)
	}
}

// INVARIANTS, fault 48: a message that is too large fails alone, and the error says
// which. Guard: PublishError.
//
//evidence:kafka-sink
func TestErrorsPerMessage(t *testing.T) {
	b := setup(t, 1)
	var messages []*message.Message
	for _, size := range []int{1, 2 << 20, 1} {
		messages = append(messages, message.NewMessage("", make([]byte, size)))
	}
	err := b.sink().Publish(b.topic, messages...)
	var failed *kafka.PublishError
	if !errors.As(err, &failed) || !errors.Is(err, kerr.MessageTooLarge) || failed.Errors[0] != nil || failed.Errors[1] == nil || failed.Errors[2] != nil {
		t.Fatalf("error %v", err)
	}
	ack(b.receive(b.subscribe(b.source(nil)), 2)...)
}

// Publishing to a topic that does not exist fails, and makes none.
func TestPublishToNowhere(t *testing.T) {
	b := setup(t, 1)
	err := b.sink().Publish(b.topic+"-nowhere", message.NewMessage("", []byte("x")))
	if !errors.Is(err, kerr.UnknownTopicOrPartition) {
		t.Errorf("error %v", err)
	}
	if err := b.sink().Publish("no/topic", message.NewMessage("", []byte("x"))); err == nil {
		t.Error("a name that cannot be was taken")
	}
}

// A closed sink refuses, and closes twice.
func TestAClosedSink(t *testing.T) {
	b := setup(t, 1)
	s := b.sink()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Publish(b.topic, message.NewMessage("", nil)); !errors.Is(err, kafka.ErrClosed) {
		t.Errorf("error %v", err)
	}
}

// Records of one key go to one partition, in their order.
func TestKeysKeepTheirOrder(t *testing.T) {
	b := setup(t, 4)
	s := b.sink()
	keys := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	var all []*message.Message
	for i := range 400 {
		m := message.NewMessage("", []byte{byte(i / len(keys))})
		m.SetContext(headrace.WithArrival(t.Context(), headrace.Arrival{OrderKey: keys[i%len(keys)]}))
		all = append(all, m)
	}
	if err := s.Publish(b.topic, all...); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, m := range b.receive(b.subscribe(b.source(nil)), len(all)) {
		got[headrace.ArrivalFrom(m.Context()).OrderKey] += string(m.Payload)
		m.Ack()
	}
	for _, k := range keys {
		if s := []byte(got[k]); !slices.IsSorted(s) || len(s) != 50 {
			t.Errorf("key %s: %v", k, s)
		}
	}
	if strings.Join(keys, "") == "" {
		t.Fatal("no keys")
	}
}
