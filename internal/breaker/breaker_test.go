package breaker_test

import (
	"errors"
	"testing"
	"time"

	"github.com/headrace/headrace/internal/breaker"
)

// The first failure opens the circuit and is told, the next success closes it.
//
//evidence:outage
func TestBreaker(t *testing.T) {
	var changes []error
	b := breaker.New(func(err error) { changes = append(changes, err) })
	if !b.Wait(t.Context()) {
		t.Fatal("a new breaker is open")
	}
	cause := errors.New("down")
	first := b.Fail(cause)
	for range 30 {
		if pause := b.Fail(cause); pause < first || pause > 5*time.Second {
			t.Fatalf("pause %s", pause)
		}
	}
	waited := make(chan bool)
	go func() { waited <- b.Wait(t.Context()) }()
	select {
	case <-waited:
		t.Fatal("passed an open breaker")
	case <-time.After(10 * time.Millisecond):
	}
	b.OK()
	if !<-waited || b.Err() != nil {
		t.Error("still open")
	}
	if len(changes) != 2 || changes[0] != cause || changes[1] != nil {
		t.Errorf("told %v", changes)
	}
}
