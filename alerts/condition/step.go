package condition

import (
	"math"
	"time"

	"github.com/headrace/headrace/alerts"
)

// Finding is what Judge says of a condition.
type Finding struct {
	// Alert is what is wrong, without what Origin gives. A zero Since means now.
	alerts.Alert
	// Unchanged says that it is neither wrong nor right: the condition stays as it is.
	Unchanged bool
	// For is how long it must be wrong before it fires.
	For time.Duration
	// Known and Instance are those of the condition.
	Known    bool
	Instance string
}

// Step returns a condition after a finding, or without one if f is nil: then nothing is wrong.
// quiet is how long nothing must be wrong before it is resolved. keep is false for a condition
// of which no row is needed.
func Step(c Condition, f *Finding, now time.Time, quiet time.Duration) (next Condition, keep bool) {
	if f == nil {
		return ease(c, now, quiet)
	}
	if f.Unchanged {
		return c, c.State != ""
	}
	if f.Kind.Event() {
		return event(c, f, now), true
	}
	if c.State != Pending && c.State != Firing {
		c = Condition{Namespace: c.Namespace, State: Pending, Ended: c.Ended, Base: f.Count, BaseAt: now}
		c.Since = now
	}
	began, severity := c.Since, c.Severity
	c.Alert, c.Known, c.Instance, c.Quiet = f.Alert, f.Known, f.Instance, time.Time{}
	c.Phase, c.At = alerts.Firing, now
	if c.State == Pending && now.Sub(began) >= f.For {
		c.State, c.Ended = Firing, time.Time{}
	}
	if c.State == Pending || f.Since.IsZero() || f.Since.After(began) {
		c.Since = began
	}
	if severity.Rank() > c.Severity.Rank() {
		c.Severity = severity // of one incident it only rises
	}
	if now.Sub(c.BaseAt) > GrowthTime {
		c.Base, c.BaseAt = c.Count, now
	}
	return c, true
}

// event is Step for what ends as it begins.
func event(c Condition, f *Finding, now time.Time) Condition {
	if c.State == "" {
		c.Alert, c.State, c.Ended, c.At = f.Alert, Resolved, now, now
		if c.Since.IsZero() {
			c.Since = now
		}
	}
	return c
}

// ease is Step while nothing is wrong.
func ease(c Condition, now time.Time, quiet time.Duration) (Condition, bool) {
	if c.State == Pending && !c.Ended.IsZero() {
		c.State, c.Phase, c.At = Resolved, alerts.Resolved, c.Ended // as before it was wrong for a moment
	}
	if c.State != Firing {
		return c, c.State == Resolved
	}
	if c.Quiet.IsZero() {
		c.Quiet = now
	}
	if now.Sub(c.Quiet) >= quiet {
		c.State, c.Ended, c.Phase, c.At = Resolved, now, alerts.Resolved, now
	}
	return c, true
}

// GrowthTime is the time in which the growth of a count is looked at.
const GrowthTime = 10 * time.Minute

const (
	// lostTime is how long an alert is tried, and dayTime how long until it is sent again.
	lostTime = 24 * time.Hour
	dayTime  = 24 * time.Hour
)

// Open reports whether the sink has heard that it is wrong, and not that it is over.
func (s Send) Open() bool { return s.Phase == alerts.Firing || s.Phase == alerts.Again }

// Next says what a sink must be sent of a condition; "" if nothing is to be sent now.
func Next(c Condition, s Send, now time.Time) alerts.Phase {
	open := s.Open()
	if now.Before(s.Due) {
		return ""
	}
	switch {
	case c.Kind.Event():
		if s.Phase == "" && now.Sub(c.Ended) < lostTime {
			return alerts.Firing
		}
		return ""
	case open && (c.State == Resolved || c.State == Pending && !c.Ended.IsZero()):
		return alerts.Resolved
	case c.State != Firing:
		return ""
	case !open && c.Quiet.IsZero():
		return alerts.Firing
	case open && (c.Severity.Rank() > s.Severity.Rank() || band(c.Count) > band(s.Count)):
		return alerts.Again
	case open && !c.Known && c.Quiet.IsZero() && now.Sub(s.Sent) >= dayTime:
		return alerts.Again
	}
	return ""
}

// Repeat reports whether a sink whose receiver forgets after a while (alerts.Repeated) must be told
// again of what fires.
func Repeat(c Condition, s Send, now time.Time, every time.Duration) bool {
	return every > 0 && s.Open() && c.State == Firing && !now.Before(s.Due) && now.Sub(s.Sent) >= every
}

// band counts the powers of ten that n has passed.
func band(n int64) int { return int(math.Log10(float64(max(n, 1)))) }

// Took is s after its sink took a phase of c.
func (s Send) Took(phase alerts.Phase, c Condition, now time.Time) Send {
	return Send{Key: c.Key, Sink: s.Sink, Phase: phase, Severity: c.Severity, Count: c.Count, Sent: now, Lost: s.Lost}
}

// Failed is s after its sink refused a phase of c, which is tried again after wait. If final is
// set, or it was tried for a day, it is lost: a Resolved is given up, and what fires is sent with
// the next day's.
func (s Send) Failed(phase alerts.Phase, c Condition, now time.Time, wait time.Duration, why string, final bool) Send {
	if s.Failures > 0 && s.Failing.Before(c.Since) { // of an incident of before, which it was not told
		s.Failures, s.Down = 0, time.Time{}
	}
	if s.Failures == 0 {
		s.Failing = now
	}
	if s.Down.IsZero() {
		s.Down = now
	}
	s.Failures, s.Due, s.Error = s.Failures+1, now.Add(wait), why
	if !final && now.Sub(s.Failing) < lostTime {
		return s
	}
	s.Lost, s.Failures, s.Failing, s.Due = s.Lost+1, 0, time.Time{}, now.Add(dayTime)
	if phase == alerts.Resolved {
		s.Phase, s.Due = alerts.Resolved, time.Time{}
	}
	return s
}

// Fails reports whether s, a row of c, says that its sink takes nothing: it was given up, or it is
// still to be sent. What needs no telling any more says nothing of a sink that may be well by now.
func (s Send) Fails(c Condition, now time.Time) bool {
	if s.Down.IsZero() || s.Failures == 0 {
		return !s.Down.IsZero()
	}
	s.Due = time.Time{}
	return Next(c, s, now) != "" || s.Open() && c.State == Firing // or it is repeated (see Repeat)
}
