package kafka

import "testing"

// The same brokers in another order are the same sink.
func TestSinkID(t *testing.T) {
	s, err := NewSink(SinkOptions{Brokers: []string{"b:9092", "a:9092"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.SinkID(); got != "kafka:a:9092,b:9092" {
		t.Errorf("%q", got)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
