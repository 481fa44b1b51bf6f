package kafka

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TRAPS, kafka: sarama's defaults are acks=local and not idempotent. Guard: the options of
// NewSink, which leave those of franz-go as they are.
//
//evidence:kafka-sink
func TestASinkAsksAllReplicas(t *testing.T) {
	s, err := NewSink(SinkOptions{Brokers: []string{"localhost:1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }() // nothing is on its way
	if acks := s.client.OptValue(kgo.RequiredAcks); acks != any(kgo.AllISRAcks()) {
		t.Errorf("acks %v", acks)
	}
	for _, option := range []any{kgo.DisableIdempotentWrite, kgo.AllowAutoTopicCreation} {
		if s.client.OptValue(option) != any(false) {
			t.Errorf("%v is set", option)
		}
	}
}
