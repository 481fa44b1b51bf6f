package relay

import (
	"errors"
	"io"
	"log/slog"
	"slices"
	"testing"
	"time"
)

// While the relay is stalled each shard is tried by itself, after pauses that grow;
// one confirmation anywhere ends it for all.
func TestAStalledRelayPauses(t *testing.T) {
	var heard []error
	s := newStall(Options{
		Logger:    slog.New(slog.NewTextHandler(io.Discard, nil)),
		OnStalled: func(err error) { heard = append(heard, err) },
	})
	down := errors.New("down")
	now := time.Now()
	var pauses []time.Duration
	for range 8 {
		if _, ok := s.enter(3, now); !ok {
			t.Fatal("the shard is not tried after its pause")
		}
		s.leave(3, verdict{refusal: down, outage: true}, now)
		if _, ok := s.enter(3, now); ok {
			t.Fatal("the shard is tried again at once")
		}
		shards, next := s.choose([]int{3, 4}, now)
		if !slices.Equal(shards, []int{4}) {
			t.Fatalf("chose %v of 3 and 4, of which 3 has just failed", shards)
		}
		pauses = append(pauses, next)
		now = now.Add(next)
	}
	const ms = time.Millisecond
	if want := []time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms, 1600 * ms, 3200 * ms, 5000 * ms, 5000 * ms}; !slices.Equal(pauses, want) {
		t.Errorf("pauses %v, want %v", pauses, want)
	}
	if probe, ok := s.enter(4, now); !probe || !ok {
		t.Error("another shard is not tried meanwhile")
	}
	s.leave(3, verdict{refusal: down, outage: true}, now)
	s.leave(4, verdict{confirmed: 1}, now)
	if probe, ok := s.enter(3, now); probe || !ok {
		t.Error("one confirmation did not end the stall for the other shard")
	}
	if len(heard) != 2 || heard[0] != down || heard[1] != nil {
		t.Errorf("OnStalled heard %v, want the error and nil, once each", heard)
	}
	if s.lastError() != "down" {
		t.Errorf("last error %q", s.lastError())
	}
}

// Fewer messages go together after a failed call, and in calls that take long, so
// that one that fails or hangs slowly is found all the same.
func TestHowManyMessagesGoTogether(t *testing.T) {
	s := newSink(nil, Options{PublishTimeout: 8 * time.Second, MaxStuck: 1})
	want := func(n int) {
		t.Helper()
		if got := s.atOnce(); got != n {
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
