package consumertest

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// rowOfCalls is how often a function is called on one message. It is high enough to find
// a counter that is divided by a hundred.
const rowOfCalls = 300

// inARow calls f many times and reports whether all results were the same.
func inARow(t testing.TB, what string, f textFunc, m Message, want string) bool {
	t.Helper()
	for i := range rowOfCalls {
		d := m.delivery()
		if got, err := guarded(f, &d); err != nil || got != want {
			t.Errorf("the %s is not stable: called %d times in a row:\n\tit was  %q\n\tand now %s\n\tmessage %s\n\tDoes the function count, or use something random or the clock?",
				what, i+1, want, result(got, err), m)
			return false
		}
	}
	return true
}

func result(got string, err error) string {
	if err != nil {
		return "cannot be had: " + err.Error()
	}
	return fmt.Sprintf("%q", got)
}

// steps are how far the clock moves between calls.
var steps = []time.Duration{0, time.Second, time.Minute, time.Hour, 24 * time.Hour, 31 * 24 * time.Hour, 366 * 24 * time.Hour, 40 * 366 * 24 * time.Hour}

// bubbleTime bounds the calls in a bubble by the real clock: the bubble's clock stands
// still while a goroutine of f waits for the network.
const bubbleTime = 3 * time.Second

// outcome is the result of the calls in a bubble.
type outcome struct{ failure, untried string }

// overTime calls f at other times, on the clock of a bubble.
func overTime(t testing.TB, what string, f textFunc, m Message, want string) {
	t.Helper()
	own, ok := t.(*testing.T)
	if !ok {
		return
	}
	if own.Context().Err() != nil { // a bubble refuses this with a panic on a goroutine of its own
		t.Logf("the %s was not tried at other times: the test is in its Cleanup", what)
		return
	}
	received := time.Now()
	said, ended := make(chan outcome, 2), make(chan struct{}) // the first counts
	go func() {                                               // a separate goroutine: a clock that stands still must not hang the test
		defer close(ended)
		defer func() { // the test runs in a bubble, or f leaves a goroutine behind in this one
			said <- outcome{untried: fmt.Sprint(recover())}
		}()
		synctest.Test(own, func(*testing.T) { said <- outcome{failure: timed(what, f, m, want, received)} })
	}()
	late := time.NewTimer(bubbleTime)
	defer late.Stop()
	select {
	case <-ended:
	case <-late.C:
		select {
		case said <- outcome{untried: fmt.Sprintf("the clock stood still for %s: does the function wait for the network?", bubbleTime)}:
		default:
		}
	}
	switch first := <-said; {
	case first.failure != "":
		t.Error(first.failure)
	case first.untried != "":
		t.Logf("the %s was not tried at other times: %s", what, first.untried)
	}
}

// timed calls f in a bubble and returns the problem. The delivery is the same each time.
func timed(what string, f textFunc, m Message, want string, received time.Time) string {
	for _, step := range steps {
		time.Sleep(step)
		d := m.delivery()
		d.ReceivedAt = received
		if got, err := guarded(f, &d); err != nil || got != want {
			return fmt.Sprintf("the %s is not stable: called at another time (%s by the test's clock):\n\tit was  %q\n\tand now %s\n\tmessage %s\n\t"+
				"A delivery that comes again after that would be handled as another message: leave the clock out.",
				what, time.Now().UTC().Format(time.DateTime), want, result(got, err), m)
		}
	}
	return ""
}
