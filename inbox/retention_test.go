package inbox_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/inbox"
)

const day = 24 * time.Hour

func TestRetentionPlan(t *testing.T) {
	for name, c := range map[string]struct {
		r    inbox.Retention
		want inbox.Plan
	}{
		"computed": {
			inbox.Retention{SourceRetention: 7 * day},
			inbox.Plan{Window: 14*day + time.Hour + (14*day+time.Hour)/10, DeadLetters: 7 * day},
		},
		"computed, short": {
			inbox.Retention{SourceRetention: time.Minute, DeadLetters: time.Minute},
			inbox.Plan{Window: 2*time.Hour + 2*time.Minute, DeadLetters: time.Minute},
		},
		"given": {
			inbox.Retention{SourceRetention: day, DeadLetters: day, Window: 49*time.Hour + 1, OpenLetters: 25*time.Hour + 1},
			inbox.Plan{Window: 49*time.Hour + 1, DeadLetters: day, OpenLetters: 25*time.Hour + 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := c.r.Plan(time.Hour); got != c.want || err != nil {
				t.Errorf("%+v, %v, want %+v", got, err, c.want)
			}
		})
	}
}

// Invariant 17: a window that is too short is refused with the sum and its parts.
//
//evidence:window
func TestRetentionIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		r       inbox.Retention
		retries time.Duration
		want    error
		says    []string
	}{
		"source unknown": {inbox.Retention{Window: day}, 0, inbox.ErrSourceRetention, nil},
		"too short": {
			inbox.Retention{SourceRetention: 7 * day, DeadLetters: day, Window: 193 * time.Hour}, time.Hour, inbox.ErrWindow,
			[]string{"Window is 8 days 1 h", "exceed 8 days 1 h", "7 days of the source", "1 h of retries", "1 day of closed letters"},
		},
		"open letters too short": {
			inbox.Retention{SourceRetention: 7 * day, OpenLetters: 169 * time.Hour}, time.Hour, inbox.ErrWindow,
			[]string{"OpenLetters is 7 days 1 h", "exceed 7 days 1 h"},
		},
		"retries without end": {inbox.Retention{SourceRetention: day}, math.MaxInt64, inbox.ErrWindow, []string{"of retries"}},
		"negative":            {inbox.Retention{SourceRetention: day, DeadLetters: -1}, 0, nil, []string{"DeadLetters is negative"}},
		"off":                 {inbox.Retention{Off: true, Window: day, OpenLetters: day}, 0, nil, []string{"Window has no effect with Off"}},
		"a mistake":           {inbox.Retention{SourceRetention: math.MaxInt64}, 0, nil, []string{"SourceRetention", "is a mistake"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.r.Plan(c.retries)
			if err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Fatalf("%v", err)
			}
			for _, part := range c.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q lacks %q", err, part)
				}
			}
		})
	}
}

// Invariant 17: whatever is given, a plan's window exceeds the sum.
//
//evidence:window
func TestRetentionWindowExceedsTheSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := func(name string) time.Duration {
			return time.Duration(rapid.Int64Range(0, int64(30*365*day)).Draw(t, name))
		}
		r := inbox.Retention{Window: d("window"), SourceRetention: d("source"), DeadLetters: d("dead"), OpenLetters: d("open")}
		retries := d("retries")
		p, err := r.Plan(retries)
		if err != nil {
			return
		}
		if p.Window <= r.SourceRetention+retries+p.DeadLetters || p.DeadLetters <= 0 {
			t.Errorf("%+v from %+v and %s", p, r, retries)
		}
		if p.OpenLetters != 0 && p.OpenLetters <= r.SourceRetention+retries {
			t.Errorf("open letters go at %s", p.OpenLetters)
		}
	})
}
