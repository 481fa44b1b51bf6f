package runner

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/internal/attempt"
	"github.com/headrace/headrace/retry"
)

// ErrStuck matches the failure of a function that still ran after its deadline and a
// grace; its goroutine was abandoned.
var ErrStuck = errors.New("handler did not return after its deadline")

// Runner runs sessions. It is safe for concurrent use.
type Runner struct {
	// Grace is how long a function may run after the end of its context.
	Grace time.Duration
	// Sessions counts the goroutines of abandoned sessions.
	Sessions *sync.WaitGroup
	// Stuck is called when a call is abandoned, and Returned when it returns later, both
	// with Call's what. They may be called concurrently.
	Stuck, Returned func(what any)
}

// Lost says why a session did not finish.
type Lost struct {
	// What is Call's what, of the call that did not return; nil if the goroutine ended
	// between two calls.
	What any
	// Err matches ErrStuck or retry.ErrGoexit.
	Err error
	// Stuck says that the call still runs; otherwise its goroutine has ended.
	Stuck bool
}

// Session is a goroutine that calls the user's functions.
type Session struct {
	r     *Runner
	cut   context.Context
	epoch time.Time
	// call is the number of the call times two, plus one while it runs; or left or done.
	call  atomic.Int64
	limit atomic.Int64 // until when the call may run, in ns since epoch
	n     int64
	// idle says that await waits for a value in busy, which the next call sends.
	idle atomic.Bool
	busy chan struct{}
	// Of the current call; others read them only after the end of the session.
	what    any
	start   time.Time
	timeout time.Duration
	done    chan struct{}
}

const (
	left = -1 // the session was abandoned
	done = -2 // its goroutine has ended
)

// Run runs f and returns nil when it has returned. It returns a Lost if a call is
// abandoned, or ends its goroutine (runtime.Goexit). When cut ends, a call under way has
// only the grace.
func (r *Runner) Run(cut context.Context, f func(*Session)) (lost *Lost) {
	rest := f
	r.Work(cut, func(l *Lost) (f func(*Session)) {
		lost, f, rest = l, rest, nil
		return f
	})
	return lost
}

// Work runs the functions that next returns, one after the other, until next returns nil.
// One session runs next and them, and another one goes on with next if a call is
// abandoned, or ends its goroutine: next then gets the Lost, otherwise nil. When cut ends,
// a call under way has only the grace.
func (r *Runner) Work(cut context.Context, next func(*Lost) func(*Session)) {
	for lost, ended := r.session(cut, next, nil); !ended; lost, ended = r.session(cut, next, lost) {
	}
}

// session runs next, the first time with before, in a session. It reports whether next has
// returned nil.
func (r *Runner) session(cut context.Context, next func(*Lost) func(*Session), before *Lost) (lost *Lost, ended bool) {
	s := &Session{r: r, cut: cut, epoch: time.Now(), busy: make(chan struct{}, 1), done: make(chan struct{})}
	go func() {
		defer s.ended()
		for f := next(before); f != nil; f = next(nil) {
			f(s) // nothing of ours may be deferred around it: the call may be abandoned
		}
		ended = true
	}()
	if s.await() {
		return &Lost{What: s.what, Err: fmt.Errorf("%w: it still ran %s after its start, and its Timeout is %s", ErrStuck, time.Since(s.start).Round(time.Millisecond), s.timeout), Stuck: true}, false
	}
	return &Lost{What: s.what, Err: retry.ErrGoexit}, ended
}

func (s *Session) ended() {
	if s.call.Swap(done) == left {
		s.r.Returned(s.what)
		s.r.Sessions.Done()
	}
	close(s.done)
}

// await waits for the end of the session, and reports true if it abandoned the session. It
// looks at the session once in a grace: no call is over its limit before that. After a grace
// without a call the next call wakes it.
func (s *Session) await() bool {
	timer := time.NewTimer(max(s.r.Grace, time.Millisecond))
	defer timer.Stop()
	cut, last := s.cut.Done(), time.Duration(0)
	for seen := int64(-1); ; {
		select {
		case <-s.done:
			return false
		case <-s.busy:
		case <-cut:
			cut, last = nil, time.Since(s.epoch)+s.r.Grace
		case <-timer.C:
		}
		now, call := time.Since(s.epoch), s.call.Load()
		limit := time.Duration(s.limit.Load())
		if last > 0 {
			limit = min(limit, last)
		}
		running := call >= 0 && call%2 == 1
		if running && now >= limit {
			s.r.Sessions.Add(1) // before the call can return
			if s.call.CompareAndSwap(call, left) {
				s.r.Stuck(s.what)
				return true
			}
			s.r.Sessions.Done()
		}
		rest := s.r.Grace
		if running {
			rest = min(rest, limit-now)
		} else if call == seen {
			if s.idle.Store(true); s.call.Load() == call {
				timer.Stop()
				continue
			}
			s.idle.Store(false)
		}
		seen = call
		timer.Reset(max(rest, time.Millisecond))
	}
}

// Result is the result of a call of a user's function.
type Result struct {
	// Err is its error; a *retry.PanicError for a panic, whose stack is Stack.
	Err   error
	Stack []byte
	// Took is how long it ran.
	Took time.Duration
}

// Call calls f with a context that has the values of parent and ends with it, with the
// runner's cut, and after timeout. what identifies the call in Lost. Only the session's
// own goroutine may use Call. It does not return if the call was abandoned.
func (s *Session) Call(parent context.Context, timeout time.Duration, what any, f func(ctx context.Context) error) (r Result) {
	ctx, cancel := context.WithTimeout(parent, timeout)
	defer cancel()
	s.n++
	s.what, s.start, s.timeout = what, time.Now(), timeout
	s.limit.Store(int64(s.start.Sub(s.epoch) + timeout + s.r.Grace))
	if s.call.Store(2*s.n + 1); s.idle.CompareAndSwap(true, false) {
		s.busy <- struct{}{}
	}
	r.Stack, r.Err = s.contain(ctx, f)
	if !s.call.CompareAndSwap(2*s.n+1, 2*s.n) {
		runtime.Goexit() // abandoned: no more code of ours may run here
	}
	r.Took = time.Since(s.start)
	s.what = nil
	return r
}

// contain calls f, and turns a panic into an error. If ctx has ended, the error says so:
// drivers report that as a cancelled statement or a lost connection.
func (s *Session) contain(ctx context.Context, f func(ctx context.Context) error) (stack []byte, err error) {
	panicked, err := attempt.Catch(func() error { return f(ctx) })
	if panicked == nil {
		panicked = Probe(err)
	}
	if panicked != nil {
		err = &retry.PanicError{Value: panicked.Value, Stack: panicked.Stack}
		_ = err.Error() // a method of the value may end the goroutine
		return panicked.Stack, err
	}
	return nil, attempt.Ended(ctx, err)
}
