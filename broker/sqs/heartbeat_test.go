package sqs

import (
	"log/slog"
	"testing"
	"time"
)

// TestTwelveHours: a message is never hidden for longer than SQS allows, counted from its
// receipt: the last beat is a shorter one, and then there is none. Guard: flight.reach.
func TestTwelveHours(t *testing.T) {
	now := time.Now()
	f := &flight{visibility: 30 * time.Second, all: map[*held]struct{}{}, log: slog.New(slog.DiscardHandler)}
	for _, c := range []struct {
		age   time.Duration
		reach time.Duration
		kept  bool
	}{
		{0, 30 * time.Second, true},
		{holdMost - time.Minute, 30 * time.Second, true},
		{holdMost - 20*time.Second, 19 * time.Second, true},
		{holdMost, -time.Second, false},
	} {
		h := &held{since: now.Add(-c.age)}
		f.all[h] = struct{}{}
		if got := f.reach(h, now); got != c.reach {
			t.Errorf("after %s it is hidden for %s, want %s", c.age, got, c.reach)
		}
		if kept := len(f.still([]*held{h})) == 1; kept != c.kept || h.lost == c.kept {
			t.Errorf("after %s: kept %t, lost %t", c.age, kept, h.lost)
		}
	}
}
