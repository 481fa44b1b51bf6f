package ledger

import (
	"context"
	"errors"
	"time"
)

// SystemPause says until when the steps of all processes leave a system alone.
type SystemPause struct {
	// System is the name of the system.
	System string
	// Left is how long the pause lasts from now on, by the database's clock; 0 or less if it
	// is over.
	Left time.Duration
	// Until is its end, or when a person ended it.
	Until time.Time
	// By and Reason say who paused or resumed it, and why; By is "" if an answer 429 did.
	By, Reason string
	// Changed is when it was paused or resumed.
	Changed time.Time
}

// MaxPause is the longest pause of a system.
const MaxPause = 30 * 24 * time.Hour

// Systems keeps the pauses of systems. Drivers implement it.
type Systems interface {
	// Pause pauses a system for p.Left from now on, by the database's clock, and reports
	// whether that is longer than it was paused before: no pause is shortened. That of a
	// person, By, is audited.
	Pause(ctx context.Context, p SystemPause) (bool, error)
	// Known reports whether a step that is recorded calls the system.
	Known(ctx context.Context, system string) (bool, error)
	// Resume ends a pause, with an audit row, and reports whether there was one.
	Resume(ctx context.Context, system, by string) (bool, error)
	// List returns the latest pause of each system, by name, also those that are over.
	List(ctx context.Context) ([]SystemPause, error)
}

// CheckSystem returns an error if no step can have a System of this name.
func CheckSystem(name string) error { return checkLine("System", name) }

// RateLimited returns for how long the other system wants to be left alone, if err is
// that of an answer 429 which HTTP has marked.
func RateLimited(err error) (wait time.Duration, ok bool) {
	m, ok := errors.AsType[*marked](err)
	if !ok || m == nil || m.wait == 0 {
		return 0, false
	}
	return m.wait, true
}
