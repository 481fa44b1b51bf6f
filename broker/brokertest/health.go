package brokertest

import (
	"testing"
	"time"

	"github.com/headrace/headrace/consumer"
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
