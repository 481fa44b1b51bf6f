package dlq

import (
	"errors"
	"runtime"
	"testing"
)

// DESIGN 3, Order: letters of a strict order key go into the backlog behind those of
// every batch before them, also one that is not committed yet; others wait for nobody.
func TestStrictLettersWaitForTheirTurn(t *testing.T) {
	plain, strict := Letter{}, Letter{Strict: true}
	plain.Delivery.OrderKey, strict.Delivery.OrderKey = "k", "k"
	first, second := &flight{ended: make(chan struct{})}, &flight{ended: make(chan struct{})}
	fl := &flight{earlier: []*flight{first, second}}
	if err := fl.turn([]Letter{plain}); err != nil {
		t.Fatal(err) // had it waited, it would still
	}
	close(second.ended)
	turned := make(chan error)
	go func() { turned <- fl.turn([]Letter{plain, strict}) }()
	for range 1000 {
		select {
		case err := <-turned:
			t.Fatalf("it did not wait for the first batch: %v", err)
		default:
			runtime.Gosched()
		}
	}
	close(first.ended)
	if err := <-turned; err != nil {
		t.Error(err)
	}
	// Where an earlier batch has failed, its letters are open yet.
	first.err = errors.New("disk full")
	if err := fl.turn([]Letter{strict}); !errors.Is(err, first.err) {
		t.Errorf("after a failure: %v", err)
	}
}
