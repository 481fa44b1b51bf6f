package publish

import (
	"errors"
	"testing"
	"time"
)

// Fewer messages go together after a failed call, and in calls that take long, so
// that one that fails or hangs slowly is found all the same.
func TestHowManyMessagesGoTogether(t *testing.T) {
	s := newSink(nil, 8*time.Second, 1)
	want := func(n int) {
		t.Helper()
		if got := s.together(); got != n {
			t.Errorf("%d messages together, want %d", got, n)
		}
	}
	want(256)
	for _, n := range []int{64, 16, 4, 1, 1} {
		s.learn(10, time.Second, errors.New("failed"))
		want(n)
	}
	s.learn(1, time.Second, errors.New("a single one says nothing"))
	for _, n := range []int{2, 4, 8} {
		s.learn(1, time.Microsecond, nil)
		want(n)
	}
	for range 20 {
		s.learn(1, 100*time.Millisecond, nil)
	}
	want(10) // a second's worth
}
