package brokertest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/outbox/relay"
)

// AwaitHealthy asks source, as a consumer does, until its subscription to topic is healthy, or
// is not.
func AwaitHealthy(t testing.TB, source consumer.HealthReporter, topic string, want bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		err := source.Healthy(t.Context(), topic)
		if (err == nil) == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("healthy: %v", err)
		}
		time.Sleep(20 * time.Millisecond) // nothing signals it
	}
}

// sinkAway: a sink says whether its broker is there, though it publishes nothing.
//
//evidence:sink-away
func sinkAway(s *bundle) {
	p := s.proxy()
	sink := s.sink(p.Listen)
	health, ok := sink.(relay.HealthReporter)
	if !ok {
		s.Fatalf("%T is no relay.HealthReporter", sink)
	}
	says := func(how string, away bool) {
		s.Helper()
		s.eventually(how, func() (string, bool) {
			ctx, cancel := context.WithTimeout(s.Context(), 4*time.Second) // as the relay asks
			defer cancel()
			began := time.Now()
			err := health.Healthy(ctx)
			if took := time.Since(began); took > noticeTime {
				s.Errorf("%s: Healthy took %s", how, took)
			}
			return fmt.Sprint(err), (err != nil) == away
		})
	}
	says("the broker is there before the first message", false)
	if err := sink.Publish(s.topic, message.NewMessage("1", []byte(`{"n":1}`))); err != nil {
		s.Fatal(err)
	}
	says("the broker is there", false)
	p.Stop()
	says("connections are refused", true)
	s.back(p)
	says("the broker is back", false)
	mend := s.harm(p, "timeout")
	defer mend()
	says("connections are silent", true)
	mend()
	says("the broker speaks again", false)
}
