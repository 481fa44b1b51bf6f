package plan

import (
	"slices"
	"time"

	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/retry"
)

// How long a message waits for a process that knows its step, and how often it asks.
const (
	strangerWait  = 15 * time.Minute
	strangerPause = 15 * time.Second
)

// The reasons for a person.
const (
	whyUndeclared = "it is recorded, and its handler does not declare it: deploy the step, or name it in Was of the one that it became, or in ledger.Gone"
	whyUnleased   = "a release with a leased handler began it, and its outcome is unknown: find out, and then headrace steps resolve SCOPE KEY STEP --done or --again"
	whyGone       = "the outcome of its call is unknown, and its handler has it no more (ledger.Gone): find out, and then headrace steps resolve SCOPE KEY STEP --done or --again"
)

// Stranger returns an error if a row may have done something, and the plan does not know its
// step. postponed is how long the message has been put off.
func (p *Plan) Stranger(rows []ledger.Row, postponed time.Duration) error {
	for _, r := range rows {
		if r.State != ledger.Failed && !p.knows(r) {
			return undeclared(r, postponed)
		}
	}
	return nil
}

func (p *Plan) knows(r ledger.Row) bool { return slices.Contains(p.Names(), ledger.NameOf(r.Step)) }

// Unleased is the error of a message that a handler without steps must not be given because of
// r, which is open: a release with a leased handler began the call.
func Unleased(r ledger.Row, postponed time.Duration) error {
	return stranger(r, whyUnleased, postponed)
}

// undeclared is the error for a step that is recorded and not declared.
func undeclared(r ledger.Row, postponed time.Duration) error {
	return stranger(r, whyUndeclared, postponed)
}

// stranger puts the message off first: in a rolling deploy another process may know the step.
func stranger(r ledger.Row, why string, postponed time.Duration) error {
	err := &ledger.ParkedError{Step: ledger.NameOf(r.Step), System: r.System, Reason: why}
	if postponed >= strangerWait {
		return retry.Permanent(err)
	}
	return retry.PostponeWithin(strangerPause, strangerWait+time.Minute, err)
}

// gone reports whether the plan knows the name of a row's step, and has no such step.
func (p *Plan) gone(r ledger.Row) bool {
	return p.knows(r) && !slices.ContainsFunc(p.steps, func(s ledger.Spec) bool {
		return s.Name == ledger.NameOf(r.Step) || slices.Contains(s.Was, ledger.NameOf(r.Step))
	})
}

// Orphans returns those of rows with a call of unknown outcome whose step is gone, parked: no run
// finds out.
func (p *Plan) Orphans(rows []ledger.Row) (parked []ledger.Row) {
	for _, r := range rows {
		if r.State == ledger.Pending && p.gone(r) {
			r.State, r.Error = ledger.Parked, whyGone
			parked = append(parked, r)
		}
	}
	return parked
}

// Left is the error of a message that is not done because of r: a step that is open, or that the
// plan does not know.
func (p *Plan) Left(r ledger.Row, postponed time.Duration) error {
	switch {
	case !p.knows(r):
		return undeclared(r, postponed)
	case r.State != ledger.Awaiting && p.gone(r): // no run comes to it
		return retry.Permanent(&ledger.ParkedError{Step: ledger.NameOf(r.Step), System: r.System, Reason: whyGone})
	}
	return &ledger.OpenError{Step: ledger.NameOf(r.Step), System: r.System, State: r.State}
}
