package retry_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/headrace/headrace/retry"
	"pgregory.net/rapid"
)

// The delays are stored as times in the database, and are computed again elsewhere:
// they must not change from version to version. These were computed with another
// program.
//
//evidence:policy
func TestDelayNeverChanges(t *testing.T) {
	var defaults retry.Backoff
	for _, c := range []struct {
		attempt int
		seed    string
		want    time.Duration
	}{
		{1, "order:1", 920000551}, {2, "order:1", 1797007701}, {2, "order:2", 1792085767}, {12, "", 1863737498499}, {100, "order:1", 3368487487598},
	} {
		if got := defaults.Delay(c.attempt, c.seed); got != c.want {
			t.Errorf("delay %d of %q is %d ns, want %d", c.attempt, c.seed, got, c.want)
		}
	}
}

func TestDelayWithoutJitter(t *testing.T) {
	b := retry.Backoff{Initial: time.Second, Max: 30 * time.Second, Factor: 2}
	for attempt, want := range map[int]time.Duration{
		math.MinInt: time.Second, -1: time.Second, 0: time.Second, 1: time.Second, 2: 2 * time.Second, 5: 16 * time.Second,
		6: 30 * time.Second, 7: 30 * time.Second,
		// INVARIANTS 3: 37, overflow after 63 doublings.
		63: 30 * time.Second, 64: 30 * time.Second, 65: 30 * time.Second, math.MaxInt: 30 * time.Second,
	} {
		if got := b.Delay(attempt, "k"); got != want {
			t.Errorf("delay %d is %s, want %s", attempt, got, want)
		}
	}
	b.Max = retry.MaxDelay
	if got := b.Delay(64, "k"); got != retry.MaxDelay {
		t.Errorf("delay 64 is %s", got)
	}
	b.Factor = math.MaxFloat64
	if got := b.Delay(2, "k"); got != retry.MaxDelay {
		t.Errorf("delay with the largest factor is %s", got)
	}
}

func TestDelayDefaults(t *testing.T) {
	bounds := func(b retry.Backoff, attempt int, from, to time.Duration) {
		t.Helper()
		for i := range 100 {
			if d := b.Delay(attempt, fmt.Sprint(i)); d < from || d > to {
				t.Fatalf("%+v: delay %d is %s, want %s to %s", b, attempt, d, from, to)
			}
		}
	}
	bounds(retry.Backoff{}, 1, 800*time.Millisecond, time.Second)
	bounds(retry.Backoff{}, 1000, 48*time.Minute, time.Hour)
	bounds(retry.Backoff{Factor: 3}, 2, 3*time.Second, 3*time.Second) // jitter 0 means none
	bounds(retry.Backoff{Initial: 2 * time.Hour}, 1, 2*time.Hour, 2*time.Hour)
	bounds(retry.Backoff{Max: time.Millisecond}, 9, time.Millisecond, time.Millisecond)
	bounds(retry.Backoff{Jitter: 1}, 3, 0, 4*time.Second)
}

// backoffs draws what Validate accepts.
func backoffs(t *rapid.T) retry.Backoff {
	initial := rapid.Int64Range(int64(time.Microsecond), int64(retry.MaxDelay)).Draw(t, "initial")
	return retry.Backoff{
		Initial: time.Duration(initial),
		Max:     time.Duration(rapid.Int64Range(initial, int64(retry.MaxDelay)).Draw(t, "max")),
		Factor:  rapid.Float64Range(1, 1e6).Draw(t, "factor"),
		Jitter:  rapid.Float64Range(0, 1).Draw(t, "jitter"),
	}
}

// TRAPS "Retry": looking at a delay changed the next one. DESIGN §4: the delay is a
// pure function, within the bounds of jitter and Max.
//
//evidence:policy
func TestDelayProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, seed := backoffs(t), rapid.String().Draw(t, "seed")
		attempt := rapid.IntRange(-2, 2000).Draw(t, "attempt")
		delay := b.Delay(attempt, seed)
		for range 3 {
			_ = b.Delay(attempt+1, seed)
			if again := b.Delay(attempt, seed); again != delay {
				t.Fatalf("delay %d was %s and is %s", attempt, delay, again)
			}
		}
		plain := b
		plain.Jitter = 0
		full, next := plain.Delay(attempt, seed), plain.Delay(attempt+1, seed)
		if next < full {
			t.Fatalf("without jitter delay %d is %s and the next %s", attempt, full, next)
		}
		if full < b.Initial || full > b.Max {
			t.Fatalf("delay %s is not from %s to %s", full, b.Initial, b.Max)
		}
		least := time.Duration(float64(full)*(1-b.Jitter)) - 1 // one for rounding
		if delay < 0 || delay < least || delay > full {
			t.Fatalf("delay %s is not from %s to %s", delay, least, full)
		}
	})
}

// Messages that failed together must not come back together, at the upper bound
// neither.
func TestJitterSpreads(t *testing.T) {
	b := retry.Backoff{Initial: time.Second, Max: 10 * time.Second, Factor: 2, Jitter: 0.5}
	for _, attempt := range []int{1, 2, 10, 50} {
		var low, high int
		for i := range 1000 {
			d := b.Delay(attempt, fmt.Sprint("key ", i))
			plain := retry.Backoff{Initial: b.Initial, Max: b.Max, Factor: 2}.Delay(attempt, "")
			switch share := 1 - float64(d)/float64(plain); {
			case share < 0.125:
				low++
			case share > 0.375:
				high++
			}
		}
		if low < 200 || low > 300 || high < 200 || high > 300 {
			t.Errorf("attempt %d: of 1000 delays %d lie in the first quarter and %d in the last", attempt, low, high)
		}
	}
}

func BenchmarkDelay(b *testing.B) {
	var backoff retry.Backoff
	b.ReportAllocs()
	for b.Loop() {
		_ = backoff.Delay(10, "shop.example:order:10492:paid")
	}
}
