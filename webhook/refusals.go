package webhook

import (
	"fmt"
	"sync"
	"time"

	"github.com/headrace/headrace/internal/encode"
)

const (
	// alertAfter is for how long an endpoint has refused every request when that is an alert.
	alertAfter = 5 * time.Minute
	// logEvery is the shortest time between two lines about refusals.
	logEvery = 10 * time.Second
)

// refusals are the requests that an endpoint has refused since it accepted one.
type refusals struct {
	endpoint *endpoint

	mu     sync.Mutex
	n      int64
	since  time.Time // of the first, and last of the newest
	last   time.Time
	logged time.Time // the last line; it survives an accepted request
	quiet  int64     // refused since that line
	warned bool      // that bodies are not limited in time
}

// accepted records a request that was verified.
func (f *refusals) accepted() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last.Sub(f.since) >= alertAfter {
		f.endpoint.source.o.Logger.Info("a webhook endpoint accepts requests again", "topic", f.endpoint.name, "refused", f.n)
	}
	f.n, f.since, f.last = 0, time.Time{}, time.Time{}
}

// refused records a refused request.
func (f *refusals) refused(code int, why error) {
	o := f.endpoint.source.o
	now := o.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n++; f.since.IsZero() {
		f.since = now
	}
	if f.quiet++; f.logged.IsZero() || now.Sub(f.logged) >= logEvery {
		o.Logger.Warn("a webhook was refused", "topic", f.endpoint.name, "status", code, "error", encode.Said(why), "refused", f.quiet)
		f.logged, f.quiet = now, 0
	}
	f.last = now
}

// refusing says that every request was refused for so long that a person must look.
func (f *refusals) refusing() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last.Sub(f.since) < alertAfter {
		return nil
	}
	return fmt.Errorf("the endpoint of %q has refused every request for 5 minutes: does its secret fit, was it changed at the sender? The log has the reasons", f.endpoint.name)
}

// unlimited logs once that the server cannot limit how long a body takes.
func (f *refusals) unlimited() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.warned {
		f.endpoint.source.o.Logger.Warn("Options.BodyTimeout has no effect: a middleware hides the server's ResponseWriter; give it a method Unwrap",
			"topic", f.endpoint.name)
	}
	f.warned = true
}
