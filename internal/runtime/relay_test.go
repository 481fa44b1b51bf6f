package runtime

import (
	"testing"
	"time"
)

// The relay's time is part of the drain time, down to the least that it needs.
func TestRelayLeft(t *testing.T) {
	for _, c := range []struct{ drain, gone, want time.Duration }{
		{20 * time.Second, 0, 20 * time.Second},
		{20 * time.Second, 12 * time.Second, 8 * time.Second},
		{20 * time.Second, 19 * time.Second, 5 * time.Second},
		{20 * time.Second, time.Minute, 5 * time.Second},
		{time.Second, time.Minute, time.Second},
	} {
		if got := relayLeft(c.drain, c.gone); got != c.want {
			t.Errorf("%s after a stop with a drain time of %s: %s, want %s", c.gone, c.drain, got, c.want)
		}
	}
}
