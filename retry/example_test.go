package retry_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/retry"
)

func ExamplePolicy_Decide() {
	policy := retry.Policy{
		MaxAttempts: 4,
		Immediate:   1,
		Backoff:     retry.Backoff{Initial: time.Second, Max: time.Minute, Factor: 10},
	}
	failure := errors.New("connection refused")
	for attempt := 1; ; attempt++ {
		d := policy.Decide(failure, retry.Classify(failure), attempt, "order:10492")
		fmt.Println(attempt, d.Action, d.Delay)
		if d.Action == retry.Never {
			break
		}
	}
	// Output:
	// 1 now 0s
	// 2 later 1s
	// 3 later 10s
	// 4 never 0s
}

func ExampleAfter() {
	// The server said 429 with Retry-After: 90.
	err := retry.After(90*time.Second, errors.New("too many requests"))
	fmt.Println(err)
	fmt.Println(retry.Policy{}.Decide(err, retry.Classify(err), 1, "order:10492").Delay)
	// Output:
	// too many requests (again after 1m30s)
	// 1m30s
}

func ExamplePermanent() {
	err := fmt.Errorf("charge: %w", retry.Permanent(errors.New("card expired")))
	fmt.Println(err, "/", retry.Classify(err))
	fmt.Println(retry.Policy{}.Decide(err, retry.Classify(err), 1, "order:10492").Action)
	// Output:
	// charge: card expired / permanent
	// never
}

func ExamplePolicy_Validate() {
	policy := retry.Policy{Backoff: retry.Backoff{Initial: 2 * time.Second, Max: time.Second}}
	fmt.Println(policy.Validate())
	// Output:
	// retry: Backoff.Max (1s) is below Backoff.Initial (2s)
}

// How long is a message retried at the most, if each run takes half a minute?
func ExamplePolicy_Span() {
	p := retry.Policy{MaxAttempts: 8, Immediate: 2, Backoff: retry.Backoff{Initial: time.Second, Max: time.Hour, Factor: 2, Jitter: 0.2}}
	fmt.Println(p.Span(30 * time.Second))
	// Output: 4m31s
}
