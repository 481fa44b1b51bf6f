package attempt

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
)

var errBoom = errors.New("boom")

func TestCatch(t *testing.T) {
	t.Parallel()
	if p, err := Catch(func() error { return errBoom }); p != nil || err != errBoom {
		t.Errorf("%v, %v", p, err)
	}
	p, err := Catch(func() error { panic("boom") })
	if err != nil || p == nil || p.Value != "boom" || !strings.Contains(string(p.Stack), "TestCatch") {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestApart(t *testing.T) {
	t.Parallel()
	p, end, err := Apart(func() error { return errBoom })
	if end(); p != nil || err != errBoom {
		t.Errorf("%v, %v", p, err)
	}
	p, end, _ = Apart(func() error { panic("boom") })
	if end(); p == nil || p.Value != "boom" {
		t.Errorf("%v", p)
	}
	before, after := make(chan struct{}), false
	go func() {
		defer close(before)
		_, end, _ := Apart(func() error { runtime.Goexit(); return nil })
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
	if err := Ended(t.Context(), errBoom); err != errBoom {
		t.Errorf("before the end: %v", err)
	}
	if err := Ended(ended, errBoom); !errors.Is(err, errBoom) || !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
	if Ended(ended, nil) != nil || Ended(ended, context.Canceled) != context.Canceled {
		t.Error("nothing is added where nothing is missing")
	}
}
