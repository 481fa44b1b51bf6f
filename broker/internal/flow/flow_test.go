package flow_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/headrace/headrace/broker/internal/flow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestGate(t *testing.T) {
	g := flow.NewGate()
	if !g.Wait(t.Context()) {
		t.Error("it is shut at first")
	}
	paused := g.Paused()
	g.Shut()
	g.Shut()
	<-paused
	ctx, cancel := context.WithCancel(t.Context())
	waited := make(chan bool)
	go func() { waited <- g.Wait(ctx) }()
	cancel()
	if <-waited {
		t.Error("Wait returned true after its context ended")
	}
	go func() { waited <- g.Wait(t.Context()) }()
	g.Open()
	g.Open()
	if !<-waited {
		t.Error("Wait returned false after Open")
	}
	select {
	case <-g.Paused():
		t.Error("it is paused after Open")
	default:
	}
}

func TestOutageIsToldOnce(t *testing.T) {
	var text bytes.Buffer
	o := &flow.Outage{Log: slog.New(slog.NewTextHandler(&text, nil)), What: "work", Say: func(error) string { return "why" }}
	var pauses []time.Duration
	for range 12 {
		o.Began(errors.New("secret"))
		pauses = append(pauses, o.Pause())
	}
	o.Over()
	o.Over()
	if n := strings.Count(text.String(), "\n"); n != 2 || strings.Contains(text.String(), "secret") {
		t.Errorf("%d lines: %s", n, text.String())
	}
	if pauses[0] != 100*time.Millisecond || pauses[1] != 200*time.Millisecond || pauses[11] != 5*time.Second {
		t.Error(pauses)
	}
}

// TestBatcher: everything is done once, in batches, and what failed again.
func TestBatcher(t *testing.T) {
	var mu sync.Mutex
	done, calls, failed := map[int]int{}, 0, false
	b := &flow.Batcher[int]{
		Batch: 10, Workers: 2, Timeout: time.Second,
		Trouble: &flow.Outage{Log: slog.New(slog.DiscardHandler), What: "work", Say: error.Error},
		Do: func(_ context.Context, items []int) ([]int, error) {
			mu.Lock()
			defer mu.Unlock()
			calls++
			if len(items) > 10 {
				t.Errorf("%d items in one request", len(items))
			}
			if !failed {
				failed = true
				return items, errors.New("outage")
			}
			for _, i := range items[1:] {
				done[i]++
			}
			if len(items) > 1 {
				return items[:1], nil
			}
			done[items[0]]++
			return nil, nil
		},
	}
	b.Start(t.Context(), 100)
	for i := range 100 {
		b.Add(i)
	}
	b.Stop()
	for i := range 100 {
		if done[i] != 1 {
			t.Errorf("item %d was done %d times", i, done[i])
		}
	}
	if calls > 60 {
		t.Errorf("%d requests", calls)
	}
}

// TestBatcherEnds: what cannot be done is left when the context ends.
func TestBatcherEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	tried := make(chan bool, 1)
	b := &flow.Batcher[int]{
		Batch: 10, Workers: 1, Timeout: time.Second,
		Trouble: &flow.Outage{Log: slog.New(slog.DiscardHandler), What: "work", Say: error.Error},
		Do: func(_ context.Context, items []int) ([]int, error) {
			select {
			case tried <- true:
			default:
			}
			return items, errors.New("outage")
		},
	}
	b.Start(ctx, 10)
	b.Add(1)
	<-tried
	cancel()
	b.Stop()
}
