package retry_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/retry"
)

var errBoom = errors.New("boom")

// doubling has equal delays without jitter.
var doubling = retry.Policy{MaxAttempts: 4, Immediate: 1, Backoff: retry.Backoff{Initial: time.Second, Max: time.Minute, Factor: 2}}

func around(t *testing.T, p retry.Policy, o retry.MiddlewareOptions, h message.HandlerFunc) message.HandlerFunc {
	t.Helper()
	m, err := retry.Middleware(p, o)
	if err != nil {
		t.Fatal(err)
	}
	return m(h)
}

// TRAPS, Retry: 20/40/80/160 ms asked, 20/80/320/1000 waited. Here the delays are
// those of the policy, and looking at them changes nothing.
func TestMiddlewareWaitsAsThePolicySays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		start := time.Now()
		h := around(t, doubling, retry.MiddlewareOptions{NackPause: time.Hour}, func(*message.Message) ([]*message.Message, error) {
			at = append(at, time.Since(start))
			for range 3 {
				_ = doubling.Decide(errBoom, retry.Transient, len(at), "1")
			}
			return nil, errBoom
		})
		_, err := h(message.NewMessage("1", nil))
		if got, want := fmt.Sprint(at), "[0s 0s 1s 3s]"; got != want {
			t.Errorf("attempts at %s, want %s", got, want)
		}
		var gone *retry.ExhaustedError
		if !errors.As(err, &gone) || !errors.Is(err, errBoom) {
			t.Fatalf("error %v", err)
		}
		if gone.Attempts != 4 || len(gone.Failures) != 4 || gone.Class != retry.Transient || gone.Last.Sub(gone.First) != 3*time.Second {
			t.Errorf("%+v", gone)
		}
		if took := time.Since(start); took != 3*time.Second+time.Hour {
			t.Errorf("the Router was told after %s", took)
		}
	})
}

// TRAPS, Timeout: it never restores the context, so the next attempt starts dead. And
// what one attempt does to its message is not seen by the next.
func TestEachAttemptStartsFresh(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		h := around(t, doubling, retry.MiddlewareOptions{Timeout: time.Minute}, func(m *message.Message) ([]*message.Message, error) {
			if m.Context().Err() != nil || string(m.Payload) != "abc" || m.Metadata.Get("k") != "v" {
				t.Errorf("run %d: %v %q %v", runs, m.Context().Err(), m.Payload, m.Metadata)
			}
			m.Payload[0] = 'x'
			m.Metadata.Set("k", "w")
			if runs++; runs == 3 {
				out := message.NewMessageWithContext(m.Context(), "out", nil)
				return []*message.Message{out}, nil
			}
			<-m.Context().Done()
			return nil, errors.New("driver: statement cancelled")
		})
		m := message.NewMessage("1", []byte("abc"))
		m.Metadata.Set("k", "v")
		out, err := h(m)
		if err != nil || len(out) != 1 || out[0].Context().Err() != nil {
			t.Fatalf("%v, %v", out, err)
		}
		if runs != 3 {
			t.Errorf("%d runs", runs)
		}
	})
}

// A timeout is an attempt of its class, whatever the driver says of it.
func TestTimeoutIsAnAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		once := retry.Policy{MaxAttempts: 1}
		h := around(t, once, retry.MiddlewareOptions{Timeout: time.Minute}, func(m *message.Message) ([]*message.Message, error) {
			<-m.Context().Done()
			return nil, errBoom
		})
		var gone *retry.ExhaustedError
		if _, err := h(message.NewMessage("1", nil)); !errors.As(err, &gone) || gone.Class != retry.Timeout {
			t.Errorf("%v", err)
		}
	})
}

func TestWhatIsNotRetried(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		err   error
		spent bool
	}{
		{"permanent", retry.Permanent(errBoom), true},
		{"held", &headrace.HeldError{Err: errBoom}, false},
		{"wrong order", fmt.Errorf("x: %w", headrace.ErrOrder), false},
	} {
		runs := 0
		h := around(t, doubling, retry.MiddlewareOptions{NackPause: time.Nanosecond}, func(*message.Message) ([]*message.Message, error) {
			runs++
			return nil, tc.err
		})
		_, err := h(message.NewMessage("1", nil))
		var gone *retry.ExhaustedError
		if errors.As(err, &gone) != tc.spent || !errors.Is(err, tc.err) || runs != 1 {
			t.Errorf("%s: %d runs, %v", tc.name, runs, err)
		}
	}
}

// DESIGN §4: cancelled is not failed; and TRAPS, Retry: a cancelled context hides the
// business error.
func TestTheEndOfTheMessageIsNoAttempt(t *testing.T) {
	t.Parallel()
	for _, during := range []string{"run", "wait"} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			runs := 0
			h := around(t, retry.Policy{MaxAttempts: 2}, retry.MiddlewareOptions{}, func(*message.Message) ([]*message.Message, error) {
				runs++
				if during == "run" {
					cancel()
				} else {
					time.AfterFunc(100*time.Millisecond, cancel)
				}
				return nil, errBoom
			})
			start := time.Now()
			_, err := h(message.NewMessageWithContext(ctx, "1", nil))
			var gone *retry.ExhaustedError
			if errors.As(err, &gone) || !errors.Is(err, context.Canceled) || !errors.Is(err, errBoom) || runs != 1 {
				t.Errorf("%s: %d runs, %v", during, runs, err)
			}
			if took := time.Since(start); took > 100*time.Millisecond {
				t.Errorf("%s: went on for %s", during, took)
			}
		})
	}
}

type unsound struct{ text string }

func (b *unsound) Error() string { return b.text }
func (b *unsound) Unwrap() error { return errors.New(b.text) }

// A panic is an attempt, also one of the error's own methods.
func TestPanicsAreAttempts(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]message.HandlerFunc{
		"handler": func(*message.Message) ([]*message.Message, error) { panic("boom") },
		"error":   func(*message.Message) ([]*message.Message, error) { return nil, (*unsound)(nil) },
	} {
		var gone *retry.ExhaustedError
		var panicked *retry.PanicError
		_, err := around(t, retry.Policy{MaxAttempts: 2, Immediate: 1}, retry.MiddlewareOptions{NackPause: 1}, h)(message.NewMessage("1", nil))
		if !errors.As(err, &gone) || gone.Attempts != 2 || !errors.As(err, &panicked) || gone.Class != retry.Panic {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Many attempts are counted, and not all of them kept.
func TestFailuresAreBounded(t *testing.T) {
	t.Parallel()
	n := 0
	_, err := around(t, retry.Policy{MaxAttempts: 250, Immediate: 249}, retry.MiddlewareOptions{NackPause: 1}, func(*message.Message) ([]*message.Message, error) {
		n++
		return nil, fmt.Errorf("failure %d", n)
	})(message.NewMessage("1", nil))
	var gone *retry.ExhaustedError
	if !errors.As(err, &gone) || gone.Attempts != 250 || len(gone.Failures) != 100 {
		t.Fatalf("%v", err)
	}
	if first, last := gone.Failures[0].Err.Error(), gone.Failures[99].Err.Error(); first != "failure 1" || last != "failure 250" || gone.Failures[1].Err.Error() != "failure 152" {
		t.Errorf("kept %s, %s to %s", first, gone.Failures[1].Err, last)
	}
	if !strings.Contains(err.Error(), "250 attempts") {
		t.Error(err)
	}
}

func TestMiddlewareOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for want, tc := range map[string]struct {
		p retry.Policy
		o retry.MiddlewareOptions
	}{
		"MaxAttempts": {p: retry.Policy{MaxAttempts: -1}},
		"Timeout":     {o: retry.MiddlewareOptions{Timeout: -1}},
		"NackPause":   {o: retry.MiddlewareOptions{NackPause: -1}},
	} {
		if _, err := retry.Middleware(tc.p, tc.o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
