package webhook

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/internal/alerting"
	"github.com/headrace/headrace/internal/attempt"
	"github.com/headrace/headrace/internal/encode"
)

const (
	// alertAfter is for how long an endpoint has refused every request when the alert is sent.
	alertAfter = 5 * time.Minute
	// alertAgain is the shortest time between two tries to send it.
	alertAgain = time.Minute
	// logEvery is the shortest time between two lines about refusals.
	logEvery = 10 * time.Second
)

// refusals are the requests that an endpoint has refused since it accepted one.
type refusals struct {
	endpoint *endpoint

	mu      sync.Mutex
	n       int64
	since   time.Time // of the first
	logged  time.Time // the last line; it survives an accepted request
	quiet   int64     // refused since that line
	alerted bool
	tried   time.Time // the last call of the hook
	warned  bool      // that bodies are not limited in time
}

// accepted records a request that was verified.
func (f *refusals) accepted() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.alerted {
		f.endpoint.source.o.Logger.Info("a webhook endpoint accepts requests again", "topic", f.endpoint.name, "refused", f.n)
	}
	f.n, f.alerted, f.since = 0, false, time.Time{}
}

// refused records a refused request, and sends the alert if it is due.
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
	if f.alerted || now.Sub(f.since) < alertAfter || !f.tried.IsZero() && now.Sub(f.tried) < alertAgain {
		return
	}
	f.alerted, f.tried = true, now
	a := alerts.Alert{
		ID: "alert-" + uuid.NewString(), Kind: alerts.WebhookRefused, Topic: f.endpoint.name,
		Environment: os.Getenv("HEADRACE_ENVIRONMENT"), Build: attempt.Build(),
		Text: fmt.Sprintf("the endpoint of %q has refused every request for 5 minutes: does its secret fit, was it changed at the sender? The log has the reasons",
			f.endpoint.name),
		Count: f.n, Since: f.since, At: now,
	}
	f.endpoint.source.alert(a, f.failed)
}

// failed has the alert sent again at a later refusal.
func (f *refusals) failed() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.alerted = false
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

// alert sends a in a goroutine, unless the Source is closed, and calls failed if that fails.
func (s *Source) alert(a alerts.Alert, failed func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Err() != nil {
		return
	}
	s.running.Go(func() {
		if err := s.hook.Call(s.closing, a); err != nil {
			failed()
			s.o.Logger.Warn("an alert was not sent; it is tried again", "kind", a.Kind, "topic", a.Topic, "error", alerting.Reason(err))
		}
	})
}
