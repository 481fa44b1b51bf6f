package retry_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/retry"
	"pgregory.net/rapid"
)

var errTest = errors.New("test")

// steady has one delay, so that a decision can be compared.
var steady = retry.Backoff{Initial: time.Second, Max: time.Second, Factor: 1}

func TestDecide(t *testing.T) {
	now, never := retry.Decision{Action: retry.Now}, retry.Decision{Action: retry.Never}
	later := func(d time.Duration) retry.Decision { return retry.Decision{Action: retry.Later, Delay: d} }
	p := retry.Policy{MaxAttempts: 5, Immediate: 2, Backoff: steady}
	growing := retry.Policy{MaxAttempts: 5, Immediate: 2, Backoff: retry.Backoff{Initial: time.Second, Max: time.Hour, Factor: 2}}
	for name, c := range map[string]struct {
		policy  retry.Policy
		err     error
		attempt int
		want    retry.Decision
	}{
		"first":                       {p, errTest, 1, now},
		"last immediate":              {p, errTest, 2, now},
		"first delayed":               {growing, errTest, 3, later(time.Second)},
		"second delayed":              {growing, errTest, 4, later(2 * time.Second)},
		"last attempt":                {p, errTest, 5, never},
		"beyond the last":             {p, errTest, 6, never},
		"far beyond":                  {p, errTest, math.MaxInt, never},
		"attempt 0":                   {p, errTest, 0, now},
		"attempt -1":                  {p, errTest, -1, now},
		"no error":                    {p, nil, 3, later(time.Second)},
		"one attempt only":            {retry.Policy{MaxAttempts: 1}, errTest, 1, never},
		"permanent":                   {p, retry.Permanent(errTest), 1, never},
		"permanent deep inside":       {p, fmt.Errorf("a: %w", errors.Join(errTest, retry.Permanent(errTest))), 1, never},
		"after":                       {p, retry.After(time.Minute, errTest), 1, later(time.Minute)},
		"after, delayed":              {p, fmt.Errorf("a: %w", retry.After(time.Minute, errTest)), 4, later(time.Minute)},
		"after, above Max":            {p, retry.After(3*time.Hour, errTest), 4, later(3 * time.Hour)},
		"after, last attempt":         {p, retry.After(time.Minute, errTest), 5, never},
		"after nothing":               {p, retry.After(0, errTest), 1, later(0)},
		"after, negative":             {p, retry.After(-time.Hour, errTest), 1, later(0)},
		"after, for ever":             {p, retry.After(math.MaxInt64, errTest), 1, later(retry.MaxDelay)},
		"after, twice: the outer":     {p, retry.After(time.Minute, retry.After(time.Hour, errTest)), 1, later(time.Minute)},
		"after around permanent":      {p, retry.After(time.Minute, retry.Permanent(errTest)), 1, never},
		"permanent around after":      {p, retry.Permanent(retry.After(time.Minute, errTest)), 1, never},
		"defaults: no immediate":      {retry.Policy{Backoff: steady}, errTest, 1, later(time.Second)},
		"defaults: ten attempts":      {retry.Policy{Backoff: steady}, errTest, 9, later(time.Second)},
		"defaults: the tenth is last": {retry.Policy{Backoff: steady}, errTest, 10, never},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.policy.Decide(c.err, retry.Classify(c.err), c.attempt, "k"); got != c.want {
				t.Errorf("got %s %s, want %s %s", got.Action, got.Delay, c.want.Action, c.want.Delay)
			}
		})
	}
	// The class alone, as read from a stored attempt, is enough.
	if got := p.Decide(errTest, retry.PermanentFailure, 1, "k"); got != never {
		t.Errorf("class permanent: %+v", got)
	}
}

func TestOverrides(t *testing.T) {
	p := retry.Policy{MaxAttempts: 9, Immediate: 2, Backoff: steady, Overrides: map[retry.Class]retry.Override{
		retry.Panic:   {MaxAttempts: 3},
		retry.Timeout: {Immediate: 1, Backoff: retry.Backoff{Initial: time.Minute, Max: time.Minute, Factor: 1}},
	}}
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		class   retry.Class
		attempt int
		want    retry.Decision
	}{
		{retry.Transient, 2, retry.Decision{Action: retry.Now}},
		{retry.Transient, 8, retry.Decision{Action: retry.Later, Delay: time.Second}},
		{retry.Panic, 1, retry.Decision{Action: retry.Later, Delay: time.Second}},
		{retry.Panic, 3, retry.Decision{Action: retry.Never}},
		{retry.Timeout, 1, retry.Decision{Action: retry.Now}},
		{retry.Timeout, 2, retry.Decision{Action: retry.Later, Delay: time.Minute}},
		{retry.Timeout, 8, retry.Decision{Action: retry.Later, Delay: time.Minute}},
		{retry.Timeout, 9, retry.Decision{Action: retry.Never}},
		{"unheard of", 2, retry.Decision{Action: retry.Now}},
	} {
		if got := p.Decide(errTest, c.class, c.attempt, "k"); got != c.want {
			t.Errorf("%s, attempt %d: got %+v, want %+v", c.class, c.attempt, got, c.want)
		}
	}
}

// DESIGN §4, INVARIANT 11: attempts never exceed the policy, and what is decided is
// decided again in the same way.
//
//evidence:policy
func TestDecideProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		attempts := rapid.IntRange(1, 100).Draw(t, "attempts")
		p := retry.Policy{MaxAttempts: attempts, Immediate: rapid.IntRange(0, attempts-1).Draw(t, "immediate"), Backoff: backoffs(t)}
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		seed, immediate := rapid.String().Draw(t, "seed"), 0
		for attempt := 1; ; attempt++ {
			d := p.Decide(errTest, retry.Transient, attempt, seed)
			if again := p.Decide(errTest, retry.Transient, attempt, seed); again != d {
				t.Fatalf("decided %+v, then %+v", d, again)
			}
			if d.Delay < 0 || d.Delay > p.Backoff.Max || d.Action != retry.Later && d.Delay != 0 {
				t.Fatalf("decision %+v", d)
			}
			if d.Action == retry.Now {
				immediate++
			}
			if d.Action == retry.Never {
				if attempt != attempts || immediate != p.Immediate {
					t.Fatalf("given up after %d attempts, %d of them followed at once", attempt, immediate)
				}
				return
			}
		}
	})
}

func TestWithDefaults(t *testing.T) {
	got := retry.Policy{}.WithDefaults()
	if got.MaxAttempts != 10 || got.Immediate != 0 || got.MaxPostpone != 24*time.Hour || got.Backoff != (retry.Backoff{Initial: time.Second, Max: time.Hour, Factor: 2, Jitter: 0.2}) {
		t.Errorf("defaults are %+v", got)
	}
	if err := (retry.Policy{}).Validate(); err != nil {
		t.Errorf("the zero policy: %v", err)
	}
	if p := (retry.Policy{MaxPostpone: time.Second}).WithDefaults(); p.MaxPostpone != time.Second {
		t.Errorf("MaxPostpone %s, want its own", p.MaxPostpone)
	}
	if err := (retry.Policy{MaxPostpone: retry.MaxDelay}).Validate(); err != nil {
		t.Errorf("the longest: %v", err)
	}
	if again := got.WithDefaults(); again.Backoff != got.Backoff || again.MaxAttempts != got.MaxAttempts {
		t.Errorf("defaults of the defaults are %+v", again)
	}
}

// INVARIANTS 3: 36, 37. A mistake dies at start-up and names the field.
func TestValidate(t *testing.T) {
	backoff := func(b retry.Backoff) retry.Policy { return retry.Policy{Backoff: b} }
	override := func(c retry.Class, o retry.Override) retry.Policy {
		return retry.Policy{Overrides: map[retry.Class]retry.Override{c: o}}
	}
	for want, p := range map[string]retry.Policy{
		"MaxAttempts is negative (-1)":                                                              {MaxAttempts: -1},
		"MaxAttempts (2147483648) is above 1000000":                                                 {MaxAttempts: 1 << 31},
		"Immediate is negative (-2)":                                                                {Immediate: -2},
		"Immediate (3) is not below MaxAttempts (3)":                                                {MaxAttempts: 3, Immediate: 3},
		"Immediate (10) is not below MaxAttempts (10)":                                              {Immediate: 10},
		"MaxPostpone is negative (-1s)":                                                             {MaxPostpone: -time.Second},
		"MaxPostpone (720h0m0.000000001s) is above 720h0m0s":                                        {MaxPostpone: retry.MaxDelay + 1},
		"Backoff.Initial is negative (-1s)":                                                         backoff(retry.Backoff{Initial: -time.Second}),
		"Backoff.Max is negative (-1s)":                                                             backoff(retry.Backoff{Initial: time.Second, Max: -time.Second}),
		"Backoff.Max (1s) is below Backoff.Initial (2s)":                                            backoff(retry.Backoff{Initial: 2 * time.Second, Max: time.Second}),
		"Backoff.Max (721h0m0s) is above 720h0m0s":                                                  backoff(retry.Backoff{Max: 721 * time.Hour}),
		"Backoff.Max (2562047h47m16.854775807s) is above 720h0m0s":                                  backoff(retry.Backoff{Initial: math.MaxInt64}),
		"Backoff.Factor (NaN) is not a finite number from 1 up":                                     backoff(retry.Backoff{Factor: math.NaN()}),
		"Backoff.Factor (+Inf) is not a finite number from 1 up":                                    backoff(retry.Backoff{Factor: math.Inf(1)}),
		"Backoff.Factor (0.5) is not a finite number from 1 up":                                     backoff(retry.Backoff{Factor: 0.5}),
		"Backoff.Factor (-2) is not a finite number from 1 up":                                      backoff(retry.Backoff{Factor: -2}),
		"Backoff.Jitter (NaN) is not from 0 to 1":                                                   backoff(retry.Backoff{Jitter: math.NaN()}),
		"Backoff.Jitter (-0.1) is not from 0 to 1":                                                  backoff(retry.Backoff{Jitter: -0.1}),
		"Backoff.Jitter (20) is not from 0 to 1":                                                    backoff(retry.Backoff{Jitter: 20}),
		`Overrides["permanent"]: a permanent failure is never retried`:                              override(retry.PermanentFailure, retry.Override{}),
		`Overrides["timeuot"]: unknown class; there are "transient", "timeout", "panic" and "lost"`: override("timeuot", retry.Override{}),
		`Overrides[""]: unknown class`:                                                              override("", retry.Override{}),
		`Overrides["panic"].MaxAttempts is negative (-1)`:                                           override(retry.Panic, retry.Override{MaxAttempts: -1}),
		`Overrides["panic"].MaxAttempts (11) is above MaxAttempts (10)`:                             override(retry.Panic, retry.Override{MaxAttempts: 11}),
		`Overrides["panic"].Immediate (2) is not below MaxAttempts (2)`:                             override(retry.Panic, retry.Override{MaxAttempts: 2, Immediate: 2}),
		`Overrides["panic"].Backoff.Jitter (2) is not from 0 to 1`:                                  override(retry.Panic, retry.Override{Backoff: retry.Backoff{Jitter: 2}}),
	} {
		if err := p.Validate(); err == nil || !strings.HasPrefix(err.Error(), "retry: "+want) {
			t.Errorf("got  %v\nwant retry: %s", err, want)
		}
		// Without validation there is no panic either, and no absurd delay.
		if d := p.Decide(errTest, retry.Transient, 3, "k"); d.Delay < 0 || d.Delay > retry.MaxDelay {
			t.Errorf("%s: decision %+v", want, d)
		}
	}
}
