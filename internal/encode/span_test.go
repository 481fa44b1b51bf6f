package encode

import (
	"math"
	"testing"
	"time"
)

// Days and hours are for people, below two minutes Go's own form is.
func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 984 * time.Millisecond: "984ms", 90 * time.Second: "1m30s", 2 * time.Minute: "2 min", 121 * time.Minute: "2 h 1 min",
		24*time.Hour + time.Second: "1 day 1 s", 976*time.Hour + 51*time.Minute + 29*time.Second: "40 days 16 h 51 min 29 s",
		977 * time.Hour: "40 days 17 h", -3 * time.Hour: "-3 h", 2*time.Minute + time.Millisecond: "2 min", math.MaxInt64: "106751 days 23 h 47 min 16 s",
	} {
		if got := Span(d); got != want {
			t.Errorf("%d: %q, want %q", d, got, want)
		}
	}
}

// Seconds are left out where they are noise, and not where they are all.
func TestMinutes(t *testing.T) {
	for d, want := range map[time.Duration]string{4 * time.Second: "4s", 119 * time.Second: "1m59s", 2*time.Minute + 29*time.Second: "2 min", time.Hour + 31*time.Second: "1 h 1 min"} {
		if got := Minutes(d); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
}
