package attempt

import (
	"context"
	"errors"
	"strings"
	"testing"
)

type broken struct{ text string }

func (b *broken) Error() string   { return b.text }
func (b *broken) Is(e error) bool { return b.text == e.Error() }

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

func TestProbe(t *testing.T) {
	t.Parallel()
	look := func(err error) { _ = errors.Is(err, errBoom) }
	if Probe(nil, look) != nil || Probe(&broken{"x"}, look) != nil {
		t.Error("a sound error is no panic")
	}
	if Probe((*broken)(nil), look) == nil {
		t.Error("a nil pointer in an error was not found")
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
