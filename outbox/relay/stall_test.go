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
		s.leave(3, publish.Result{Refusal: down, Outage: true}, now)
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
	s.leave(3, publish.Result{Refusal: down, Outage: true}, now)
	s.leave(4, publish.Result{Confirmed: 1, Total: 1}, now)
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
	total := int64(0)
	refused := func(now time.Time) {
		s.leave(1, publish.Result{Refusal: io.EOF, Outage: true, Total: total}, now)
	}
	confirmed := func(now time.Time) {
		total++
		s.leave(1, publish.Result{Confirmed: 1, Total: total}, now)
	}
	for range 600 { // a minute
		refused(now)
		confirmed(now.Add(time.Millisecond))
		now = now.Add(100 * time.Millisecond)
	}
	stalled, again := strings.Count(log.String(), "level=ERROR"), strings.Count(log.String(), "no longer stalled")
	if stalled != 6 || again != 6 || heard != 1200 || !strings.Contains(log.String(), "stalls=100") {
		t.Errorf("%d times stalled, %d times well, %d calls of the hook:\n%s", stalled, again, heard, log.String())
	}
	refused(now) // at 60 s: due
	confirmed(now.Add(time.Second))
	log.Reset()
	for _, after := range []time.Duration{2, 6, 9} {
		refused(now.Add(after * time.Second))
	}
	if log.Len() > 0 {
		t.Errorf("too soon: %s", log.String())
	}
	refused(now.Add(11 * time.Second))
	if !strings.Contains(log.String(), "level=ERROR") {
		t.Error("a stall that lasts was not logged")
	}
	confirmed(now.Add(12 * time.Second))
	if !strings.Contains(log.String(), "no longer stalled") {
		t.Error("its end was not logged")
	}
}

// Batches end in another order than the sink has answered them, since each records its
// result first. The newer answer counts.
func TestTheNewerAnswerCounts(t *testing.T) {
	var heard []error
	s := newStall(Options{Logger: slog.New(slog.DiscardHandler), OnStalled: func(err error) { heard = append(heard, err) }})
	now, down := time.Now(), errors.New("down")
	outage := func(total int64) { s.leave(1, publish.Result{Refusal: down, Outage: true, Total: total}, now) }
	confirmed := func(total int64) { s.leave(2, publish.Result{Confirmed: 1, Total: total}, now) }

	confirmed(3)
	outage(2) // refused before the third row was confirmed
	if s.reason() != nil {
		t.Error("a refusal from before the last confirmation stalls the relay")
	}
	outage(3)
	confirmed(3) // before that refusal
	if s.reason() == nil {
		t.Error("a confirmation from before the last refusal ends the stall")
	}
	s.asked(down, 3, now)
	confirmed(4)
	if s.reason() != nil || len(heard) != 2 {
		t.Errorf("stalled by %v after a new confirmation, and heard %v", s.reason(), heard)
	}
	s.asked(down, 5, now)
	confirmed(5)
	if s.reason() == nil {
		t.Error("a confirmation from before the question says that the broker is there")
	}
	s.asked(nil, 5, now)
	if s.reason() != nil || len(heard) != 4 {
		t.Errorf("stalled by %v though the broker is there, and heard %v", s.reason(), heard)
	}
}
