package relay

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/internal/publish"
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
		s.leave(3, publish.Verdict{Refusal: down, Outage: true}, now)
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
	s.leave(3, publish.Verdict{Refusal: down, Outage: true}, now)
	s.leave(4, publish.Verdict{Confirmed: 1}, now)
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

// A sink that fails now and then is a few lines in the log, which count, and not two for
// each time; one that begins to fail for good in between is said to when that has lasted.
func TestAFlappingSinkLogsLittle(t *testing.T) {
	var log bytes.Buffer
	heard := 0
	s := newStall(Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), OnStalled: func(error) { heard++ }})
	now := time.Now()
	for range 600 { // a minute
		s.leave(1, publish.Verdict{Refusal: io.EOF, Outage: true}, now)
		s.leave(1, publish.Verdict{Confirmed: 1}, now.Add(time.Millisecond))
		now = now.Add(100 * time.Millisecond)
	}
	stalled, again := strings.Count(log.String(), "level=ERROR"), strings.Count(log.String(), "confirms again")
	if stalled != 6 || again != 6 || heard != 1200 || !strings.Contains(log.String(), "stalls=100") {
		t.Errorf("%d times stalled, %d times well, %d calls of the hook:\n%s", stalled, again, heard, log.String())
	}
	s.leave(1, publish.Verdict{Refusal: io.EOF, Outage: true}, now) // at 60 s: due
	s.leave(1, publish.Verdict{Confirmed: 1}, now.Add(time.Second))
	log.Reset()
	for _, after := range []time.Duration{2, 6, 9} {
		s.leave(1, publish.Verdict{Refusal: io.EOF, Outage: true}, now.Add(after*time.Second))
	}
	if log.Len() > 0 {
		t.Errorf("too soon: %s", log.String())
	}
	s.leave(1, publish.Verdict{Refusal: io.EOF, Outage: true}, now.Add(11*time.Second))
	if !strings.Contains(log.String(), "level=ERROR") {
		t.Error("a stall that lasts was not logged")
	}
	s.leave(1, publish.Verdict{Confirmed: 1}, now.Add(12*time.Second))
	if !strings.Contains(log.String(), "confirms again") {
		t.Error("its end was not logged")
	}
}
