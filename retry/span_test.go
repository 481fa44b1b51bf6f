package retry_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/retry"
)

func TestSpan(t *testing.T) {
	second := retry.Backoff{Initial: time.Second, Max: 4 * time.Second, Factor: 2, Jitter: 0.5}
	for name, c := range map[string]struct {
		policy  retry.Policy
		timeout time.Duration
		want    time.Duration
	}{
		"one attempt":        {retry.Policy{MaxAttempts: 1}, time.Minute, time.Minute},
		"no timeout":         {retry.Policy{MaxAttempts: 5, Backoff: second}, 0, (1 + 2 + 4 + 4) * time.Second},
		"timeouts":           {retry.Policy{MaxAttempts: 3, Backoff: second}, time.Minute, 3*time.Minute + 3*time.Second},
		"immediate":          {retry.Policy{MaxAttempts: 5, Immediate: 2, Backoff: second}, 0, (1 + 2) * time.Second},
		"the default policy": {retry.Policy{}, 30 * time.Second, 511*time.Second + 10*30*time.Second},
		"the longest class": {retry.Policy{MaxAttempts: 4, Backoff: second, Overrides: map[retry.Class]retry.Override{
			retry.Timeout: {Backoff: retry.Backoff{Initial: time.Hour, Max: time.Hour, Factor: 1}},
		}}, 0, 3 * time.Hour},
		"a class that gives up early": {retry.Policy{MaxAttempts: 4, Backoff: second, Overrides: map[retry.Class]retry.Override{
			retry.Timeout: {MaxAttempts: 2, Backoff: retry.Backoff{Initial: time.Hour, Max: time.Hour, Factor: 1}},
		}}, 0, time.Hour + (2+4)*time.Second},
		"more than a Duration holds": {retry.Policy{MaxAttempts: 1_000_000, Backoff: retry.Backoff{Initial: retry.MaxDelay, Max: retry.MaxDelay}}, time.Hour, math.MaxInt64},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.policy.Span(c.timeout); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// No way through a policy takes longer than its span.
//
//evidence:policy
func TestSpanIsABound(t *testing.T) {
	classes := []retry.Class{retry.Transient, retry.Timeout, retry.Panic}
	rapid.Check(t, func(t *rapid.T) {
		duration := rapid.Int64Range(1, int64(time.Hour))
		backoff := func(name string) retry.Backoff {
			initial := duration.Draw(t, name)
			return retry.Backoff{
				Initial: time.Duration(initial), Max: time.Duration(initial + duration.Draw(t, name)),
				Factor: rapid.Float64Range(1, 5).Draw(t, name), Jitter: rapid.Float64Range(0, 1).Draw(t, name),
			}
		}
		p := retry.Policy{MaxAttempts: rapid.IntRange(1, 30).Draw(t, "attempts"), Backoff: backoff("backoff")}
		p.Immediate = rapid.IntRange(0, p.MaxAttempts-1).Draw(t, "immediate")
		class := rapid.SampledFrom(classes)
		p.Overrides = map[retry.Class]retry.Override{class.Draw(t, "overridden"): {Backoff: backoff("override")}}
		total := time.Duration(0)
		for attempt := 1; ; attempt++ {
			total += time.Minute
			d := p.Decide(errTest, class.Draw(t, "class"), attempt, "seed")
			if d.Action == retry.Never {
				break
			}
			total += d.Delay
		}
		if span := p.Span(time.Minute); total > span {
			t.Errorf("a message took %s, and the span is %s", total, span)
		}
	})
}
