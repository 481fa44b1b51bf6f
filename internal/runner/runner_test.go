package runner_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/headrace/headrace/internal/runner"
	"github.com/headrace/headrace/retry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errBoom = errors.New("boom")

// fixture is a runner that notes what it is told.
type fixture struct {
	*runner.Runner
	mu   sync.Mutex
	told []string
}

func newFixture() *fixture {
	f := &fixture{}
	note := func(word string) func(any) {
		return func(what any) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.told = append(f.told, word+" "+what.(string))
		}
	}
	f.Runner = &runner.Runner{Grace: 5 * time.Second, Sessions: new(sync.WaitGroup), Stuck: note("stuck"), Returned: note("returned")}
	return f
}

func (f *fixture) seen() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.told)
}

func TestCalls(t *testing.T) {
	t.Parallel()
	f := newFixture()
	var order []string
	lost := f.Run(t.Context(), func(s *runner.Session) {
		for _, what := range []string{"a", "b", "c"} {
			r := s.Call(t.Context(), time.Minute, what, func(context.Context) error {
				order = append(order, what)
				switch what {
				case "a":
					return errBoom
				case "b":
					panic("oh")
				}
				return nil
			})
			switch {
			case what == "a" && r.Err != errBoom, what == "c" && r.Err != nil:
				t.Errorf("%s: %v", what, r.Err)
			case what == "b":
				var p *retry.PanicError
				if !errors.As(r.Err, &p) || p.Value != "oh" || !strings.Contains(string(r.Stack), "TestCalls") {
					t.Errorf("%v", r.Err)
				}
			}
		}
	})
	if lost != nil || !slices.Equal(order, []string{"a", "b", "c"}) {
		t.Errorf("%v, calls %v", lost, order)
	}
}

// A function that ignores its deadline is left behind after the grace; nothing of ours
// runs on its goroutine after that, whenever it returns.
//
//evidence:left-behind
func TestLeftBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		start, release := time.Now(), make(chan struct{})
		lost := f.Run(t.Context(), func(s *runner.Session) {
			s.Call(t.Context(), time.Second, "quick", func(context.Context) error { return nil })
			s.Call(t.Context(), 10*time.Second, "slow", func(context.Context) error {
				<-release
				return nil
			})
			t.Error("the session went on")
		})
		if took := time.Since(start); lost == nil || !lost.Stuck || lost.What != "slow" || !errors.Is(lost.Err, runner.ErrStuck) || took != 15*time.Second {
			t.Errorf("%+v after %s", lost, took)
		}
		if want := "handler did not return after its deadline: it still ran 15s after its start, and its Timeout is 10s"; lost.Err.Error() != want {
			t.Errorf("%q, want %q", lost.Err, want)
		}
		close(release)
		f.Sessions.Wait()
		if got := f.seen(); !slices.Equal(got, []string{"stuck slow", "returned slow"}) {
			t.Errorf("told %v", got)
		}
	})
}

// A worker runs all functions on one goroutine. Another one goes on where a call is left
// behind, or ends its goroutine, also between two calls.
//
//evidence:left-behind
func TestWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		release := make(chan struct{})
		call := func(what string, do func()) func(*runner.Session) {
			return func(s *runner.Session) {
				s.Call(t.Context(), time.Second, what, func(context.Context) error { do(); return nil })
			}
		}
		list := []func(*runner.Session){
			call("a", func() {}), call("b", func() {}), call("stuck", func() { <-release }), call("exits", runtime.Goexit), nil, call("c", func() {}), call("d", func() {}),
		}
		var on, lost []string
		f.Work(t.Context(), func(l *runner.Lost) func(*runner.Session) {
			on = append(on, goroutine())
			if l != nil {
				lost = append(lost, fmt.Sprintf("%v %v", l.What, l.Stuck))
			}
			if len(list) == 0 {
				return nil
			}
			run := list[0]
			if list = list[1:]; run == nil {
				runtime.Goexit()
			}
			return run
		})
		close(release)
		f.Sessions.Wait()
		var sessions []int // how many in a row are on one goroutine
		for i := range on {
			if i == 0 || on[i] != on[i-1] {
				sessions = append(sessions, 0)
			}
			sessions[len(sessions)-1]++
		}
		if want := []int{3, 1, 1, 3}; !slices.Equal(sessions, want) {
			t.Errorf("sessions of %v, want %v", sessions, want)
		}
		if want := []string{"stuck true", "exits false", "<nil> false"}; !slices.Equal(lost, want) {
			t.Errorf("lost %v", lost)
		}
		if got := f.seen(); !slices.Equal(got, []string{"stuck stuck", "returned stuck"}) {
			t.Errorf("told %v", got)
		}
	})
}

// A call after a long time without one is left behind in time: it wakes what watches.
//
//evidence:left-behind
func TestIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		for _, idle := range []time.Duration{0, time.Second, 4 * f.Grace, time.Hour} {
			var begun time.Time
			release := make(chan struct{})
			lost := f.Run(t.Context(), func(s *runner.Session) {
				for range 3 {
					s.Call(t.Context(), time.Minute, "quick", func(context.Context) error { return nil })
					time.Sleep(idle)
				}
				begun = time.Now()
				s.Call(t.Context(), time.Second, "slow", func(context.Context) error { <-release; return nil })
			})
			if took := time.Since(begun); lost == nil || lost.What != "slow" || took != 6*time.Second {
				t.Errorf("idle for %s: %+v after %s", idle, lost, took)
			}
			close(release)
			f.Sessions.Wait()
		}
	})
}

// goroutine names the goroutine that calls it.
func goroutine() string {
	stack := make([]byte, 64)
	name, _, _ := strings.Cut(string(stack[:runtime.Stack(stack, false)]), " [")
	return name
}

// What returns within the grace counts.
//
//evidence:left-behind
func TestWithinTheGrace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		f.Run(t.Context(), func(s *runner.Session) {
			r := s.Call(t.Context(), time.Second, "late", func(ctx context.Context) error {
				time.Sleep(5 * time.Second)
				return nil
			})
			if r.Err != nil || r.Took != 5*time.Second {
				t.Errorf("%v after %s", r.Err, r.Took)
			}
			r = s.Call(t.Context(), time.Second, "late", func(ctx context.Context) error {
				<-ctx.Done()
				return errBoom
			})
			if !errors.Is(r.Err, context.DeadlineExceeded) || !errors.Is(r.Err, errBoom) {
				t.Errorf("the error does not tell of the deadline: %v", r.Err)
			}
		})
	})
}

// When the drain time is over, a call has the grace, whatever its own deadline is. Work of
// ours between the calls is not cut.
//
//evidence:stop
func TestCut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		ctx, cut := context.WithCancel(context.Background())
		time.AfterFunc(time.Second, cut)
		start, release := time.Now(), make(chan struct{})
		lost := f.Run(ctx, func(s *runner.Session) {
			time.Sleep(30 * time.Second) // ours
			s.Call(context.Background(), time.Hour, "slow", func(context.Context) error { <-release; return nil })
		})
		if took := time.Since(start); lost == nil || took < 30*time.Second || took > 36*time.Second {
			t.Errorf("%+v after %s", lost, took)
		}
		close(release)
		f.Sessions.Wait()
	})
}

//evidence:panic
func TestGoexit(t *testing.T) {
	t.Parallel()
	f := newFixture()
	lost := f.Run(t.Context(), func(s *runner.Session) {
		s.Call(t.Context(), time.Minute, "exits", func(context.Context) error { runtime.Goexit(); return nil })
	})
	if lost == nil || lost.Stuck || lost.What != "exits" || !errors.Is(lost.Err, retry.ErrGoexit) {
		t.Errorf("%+v", lost)
	}
}

// An error whose methods panic is a panic of the handler.
//
//evidence:panic
func TestErrorThatPanics(t *testing.T) {
	t.Parallel()
	f := newFixture()
	f.Run(t.Context(), func(s *runner.Session) {
		r := s.Call(t.Context(), time.Minute, "x", func(context.Context) error { return (*broken)(nil) })
		var p *retry.PanicError
		if !errors.As(r.Err, &p) {
			t.Errorf("%T", r.Err)
		}
	})
}

type broken struct{ text string }

func (b *broken) Error() string { return b.text }

// loop is an error that wraps itself.
type loop struct{}

func (l loop) Error() string { return "loop" }
func (l loop) Unwrap() error { return l }

// A nil pointer in an error is found, and an error that wraps itself: errors.Is would run for ever.
func TestProbe(t *testing.T) {
	t.Parallel()
	many := make([]error, 1000)
	for i := range many {
		many[i] = errors.New("boom")
	}
	for _, sound := range []error{nil, &broken{"x"}, errors.Join(many...)} {
		if p := runner.Probe(sound); p != nil {
			t.Errorf("%T: %v", sound, p.Value)
		}
	}
	for _, bad := range []error{(*broken)(nil), loop{}, errors.Join(many[0], loop{})} {
		if runner.Probe(bad) == nil {
			t.Errorf("%T: nothing is found", bad)
		}
	}
}
