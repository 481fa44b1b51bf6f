package attempt_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/attempt"
)

func TestCatch(t *testing.T) {
	t.Parallel()
	if p, err := attempt.Catch(func() error { return errBoom }); p != nil || err != errBoom {
		t.Errorf("%v, %v", p, err)
	}
	p, err := attempt.Catch(func() error { panic("boom") })
	if err != nil || p == nil || p.Value != "boom" || !strings.Contains(string(p.Stack), "TestCatch") {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestApart(t *testing.T) {
	t.Parallel()
	p, end, err := attempt.Apart(func() error { return errBoom })
	if end(); p != nil || err != errBoom {
		t.Errorf("%v, %v", p, err)
	}
	p, end, _ = attempt.Apart(func() error { panic("boom") })
	if end(); p == nil || p.Value != "boom" {
		t.Errorf("%v", p)
	}
	before, after := make(chan struct{}), false
	go func() {
		defer close(before)
		_, end, _ := attempt.Apart(func() error { runtime.Goexit(); return nil })
		after = true
		end()
		after = false
	}()
	if <-before; !after {
		t.Error("Goexit is not put off until end, or is lost")
	}
}

func TestEnded(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := attempt.Ended(t.Context(), errBoom); err != errBoom {
		t.Errorf("before the end: %v", err)
	}
	if err := attempt.Ended(ended, errBoom); !errors.Is(err, errBoom) || !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
	if attempt.Ended(ended, nil) != nil || attempt.Ended(ended, context.Canceled) != context.Canceled {
		t.Error("nothing is added where nothing is missing")
	}
}
