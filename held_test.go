package headrace_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/headrace/headrace"
)

func TestIsHeld(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	held := fmt.Errorf("outer: %w", &headrace.HeldError{Err: boom})
	if !headrace.IsHeld(held) || !errors.Is(held, boom) {
		t.Errorf("%v is not held", held)
	}
	if !headrace.IsHeld(fmt.Errorf("outer: %w", headrace.ErrOrder)) {
		t.Error("a wrong order is not held")
	}
	if headrace.IsHeld(boom) || headrace.IsHeld(nil) {
		t.Error("an error of the handler is held")
	}
}
