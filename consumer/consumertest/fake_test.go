package consumertest_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// failure runs a test outside of go test, and returns what it failed with; "" if it
// passed. Kits are tested on wrong handlers with it, and the Examples run by it.
func failure(test func(t testing.TB)) string {
	t := &fake{}
	var cancel context.CancelFunc
	t.ctx, cancel = context.WithCancel(context.Background())
	t.apart(func() { test(t) })
	cancel()
	for len(t.cleanups) > 0 {
		last := t.cleanups[len(t.cleanups)-1]
		t.cleanups = t.cleanups[:len(t.cleanups)-1]
		t.apart(last)
	}
	return strings.Join(t.failures, "\n")
}

// fake stands where a *testing.T cannot be had: a test that is expected to fail.
type fake struct {
	testing.TB
	ctx      context.Context
	cleanups []func()

	mu       sync.Mutex
	failures []string
}

// apart runs f on a goroutine that Fatalf may end.
func (t *fake) apart(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

func (t *fake) Helper()                  {}
func (t *fake) Logf(string, ...any)      {}
func (t *fake) Context() context.Context { return t.ctx }
func (t *fake) Cleanup(f func())         { t.cleanups = append(t.cleanups, f) }

func (t *fake) TempDir() string {
	dir, err := os.MkdirTemp("", "consumertest")
	if err != nil {
		panic(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (t *fake) Errorf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failures = append(t.failures, fmt.Sprintf(format, args...))
}

func (t *fake) Fatalf(format string, args ...any) {
	t.Errorf(format, args...)
	runtime.Goexit()
}

// says fails t unless each of the words is in the failure.
func says(t *testing.T, failure string, words ...string) {
	t.Helper()
	if slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(failure, w) }) {
		t.Errorf("the kit said:\n%s\nwant all of %q in it", failure, words)
	}
}
