package attempt_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/internal/attempt"
	"github.com/headrace/headrace/retry"
)

var errBoom = errors.New("boom")

func TestLate(t *testing.T) {
	t.Parallel()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	options := "consumer.Timeout"
	if attempt.Late(t.Context(), errBoom, time.Second, options) != errBoom || attempt.Late(cancelled, context.Canceled, time.Second, options) != context.Canceled || attempt.Late(late, nil, time.Second, options) != nil {
		t.Error("something is added although the time is not over")
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{late.Err(), "the handler's time of 700ms (consumer.Timeout) is over: context deadline exceeded"},
		{errBoom, "the handler's time of 700ms (consumer.Timeout) is over: context deadline exceeded: boom"},
	} {
		err := attempt.Late(late, c.err, 700*time.Millisecond, options)
		if err.Error() != c.want || !errors.Is(err, c.err) || !errors.Is(err, context.DeadlineExceeded) || retry.Classify(err) != retry.Timeout {
			t.Errorf("%v, want %s", err, c.want)
		}
		other := attempt.Late(late, c.err, 2*time.Minute, options)
		if a, b := dlq.Describe(err, nil, nil).Fingerprint, dlq.Describe(other, nil, nil).Fingerprint; a != b {
			t.Errorf("%q and %q are in different groups", err, other)
		}
	}
}
