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
	// Sessions counts the goroutines of sessions.
	Sessions *sync.WaitGroup
	// Stuck is called when a call is abandoned, and Returned when it returns later, both
	// with Call's what. They may be called concurrently.
	Stuck, Returned func(what any)
	// Check is called with each error of a user's function, in its goroutine. It calls
	// the methods that are called again later, to find those that panic while a recover
	// is in place. May be nil.
	Check func(error)
}

// Lost says why a session did not finish.
type Lost struct {
	// What is Call's what, of the call that did not return.
	What any
	// Err matches ErrStuck or retry.ErrGoexit.
	Err error
	// Stuck says that the call still runs; otherwise its goroutine has ended.
	Stuck bool
}

// Session is one run of a function, in its own goroutine.
type Session struct {
	r     *Runner
	cut   context.Context
	epoch time.Time
	// call is the number of the call times two, plus one while it runs; or left or done.
	call  atomic.Int64
	limit atomic.Int64 // until when the call may run, in ns since epoch
	n     int64
	what  any // of the current call; others read it only after the end of the session
	done  chan struct{}
}

const (
	left = -1 // the session was abandoned
	done = -2 // f has returned, or its goroutine has ended
)

// Run runs f and returns nil when it has returned. It returns a Lost if a call is
// abandoned, or ends its goroutine (runtime.Goexit). When cut ends, a call under way has
// only the grace.
func (r *Runner) Run(cut context.Context, f func(*Session)) *Lost {
	s := &Session{r: r, cut: cut, epoch: time.Now(), done: make(chan struct{})}
	returned := false
	r.Sessions.Add(1)
	go func() {
		defer r.Sessions.Done()
		defer s.ended()
		f(s)
		returned = true
	}()
	if s.await() {
		return &Lost{What: s.what, Err: fmt.Errorf("%w: %s after the start", ErrStuck, time.Since(s.epoch).Round(time.Millisecond)), Stuck: true}
	}
	if !returned {
		return &Lost{What: s.what, Err: retry.ErrGoexit}
	}
	return nil
}

func (s *Session) ended() {
	if s.call.Swap(done) == left {
		s.r.Returned(s.what)
	}
	close(s.done)
}

// await waits for the end of the session, and reports true if it abandoned the session.
func (s *Session) await() bool {
	timer := time.NewTimer(max(s.r.Grace, time.Millisecond)) // until then no call can be over its limit
	defer timer.Stop()
	cut, last := s.cut.Done(), time.Duration(0)
	for {
		select {
		case <-s.done:
			return false
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
		if running && now >= limit && s.call.CompareAndSwap(call, left) {
			s.r.Stuck(s.what)
			return true
		}
		rest := limit - now
		if !running { // between two calls: check again in time for the next one
			rest = s.r.Grace
		}
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
	s.what = what
	start := time.Now()
	s.limit.Store(int64(start.Sub(s.epoch) + timeout + s.r.Grace))
	s.call.Store(2*s.n + 1)
	r.Stack, r.Err = s.contain(ctx, f)
	if !s.call.CompareAndSwap(2*s.n+1, 2*s.n) {
		runtime.Goexit() // abandoned: no more code of ours may run here
	}
	r.Took = time.Since(start)
	return r
}

// contain calls f, and turns a panic into an error. If ctx has ended, the error says so:
// drivers report that as a cancelled statement or a lost connection.
func (s *Session) contain(ctx context.Context, f func(ctx context.Context) error) (stack []byte, err error) {
	panicked, err := attempt.Catch(func() error { return f(ctx) })
	if panicked == nil && s.r.Check != nil {
		panicked = attempt.Probe(err, s.r.Check)
	}
	if panicked != nil {
		return panicked.Stack, &retry.PanicError{Value: panicked.Value, Stack: panicked.Stack}
	}
	return nil, attempt.Ended(ctx, err)
}
