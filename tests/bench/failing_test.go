package main

import (
	"errors"
	"math"
	"syscall"
	"testing"
)

// The share that fails is the figure's name, a third of it in each way, and each message
// once.
func TestFaults(t *testing.T) {
	const messages = 100_000
	for _, percent := range []uint64{0, 5, 50} {
		f := &faults{percent: percent, made: make(map[uint64]bool)}
		kinds := make(map[fault]int)
		for n := range uint64(messages) {
			kind := f.first(n)
			kinds[kind]++
			if f.first(n) != none {
				t.Fatalf("message %d fails twice", n)
			}
			if again := f.of(n); again != kind {
				t.Fatalf("message %d fails by %d in one run and by %d in another", n, kind, again)
			}
		}
		third := messages * float64(percent) / 100 / 3
		for _, kind := range []fault{failure, panicking, refusal} {
			if math.Abs(float64(kinds[kind])-third) > third/10 {
				t.Errorf("with %d %% of %d messages %d fail by %d, want about %.0f", percent, messages, kinds[kind], kind, third)
			}
		}
		if err := f.verify(messages); err != nil {
			t.Error(err)
		}
		if err := f.verify(2 * messages); percent > 0 && err == nil {
			t.Error("messages that were to fail and did not were not noticed")
		}
	}
}

func TestRefusedConnection(t *testing.T) {
	refused, err := refusedConnection()
	if err != nil {
		t.Fatal(err)
	}
	if !errors.Is(refused, syscall.ECONNREFUSED) {
		t.Errorf("error %v, want that of a refused connection", refused)
	}
}
