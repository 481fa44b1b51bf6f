package inspect

import (
	"testing"
	"time"
)

func TestMoment(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"": {}, "2026-01-30T10:00:00+02:00": now.Add(-28 * time.Hour), "90m": now.Add(-90 * time.Minute), "7d": now.AddDate(0, 0, -7),
	} {
		if got, err := Moment(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"tomorrow", "2026-01-31", "-1h", "0d", "d", "1.5d", "99999999999d", "0s"} {
		if got, err := Moment(text, now); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}
