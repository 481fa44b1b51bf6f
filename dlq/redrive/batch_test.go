package redrive

import (
	"errors"
	"runtime"
	"testing"

	"github.com/headrace/headrace/dlq"
)

// DESIGN §3 Order: letters of a strict order key go into the backlog behind those of
// every batch before them, also one that is not committed yet; other letters do not wait.
func TestStrictLettersWaitForEarlierBatches(t *testing.T) {
	plain, strict := dlq.Letter{}, dlq.Letter{Strict: true}
	plain.Delivery.OrderKey, strict.Delivery.OrderKey = "k", "k"
	first, second := &batch{ended: make(chan struct{})}, &batch{ended: make(chan struct{})}
	b := &batch{earlier: []*batch{first, second}}
	if err := b.waitForEarlier([]dlq.Letter{plain}); err != nil {
		t.Fatal(err) // had it waited, it would still
	}
	close(second.ended)
	waited := make(chan error)
	go func() { waited <- b.waitForEarlier([]dlq.Letter{plain, strict}) }()
	for range 1000 {
		select {
		case err := <-waited:
			t.Fatalf("it did not wait for the first batch: %v", err)
		default:
			runtime.Gosched()
		}
	}
	close(first.ended)
	if err := <-waited; err != nil {
		t.Error(err)
	}
	// Where an earlier batch has failed, its letters are open yet.
	first.err = errors.New("disk full")
	if err := b.waitForEarlier([]dlq.Letter{strict}); !errors.Is(err, first.err) {
		t.Errorf("after a failure: %v", err)
	}
}
