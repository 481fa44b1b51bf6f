package story

import (
	"context"
	"errors"

	"github.com/headrace/headrace"
)

// What faultHeader may ask for.
const (
	faultPanic     = "panic"     // the first run panics
	faultTransient = "transient" // the first runs fail
)

// transientRuns is how many runs of a webhook with faultTransient fail: one more than the policy repeats at
// once, so that the message goes through the backlog.
const transientRuns = 3

// errSimulated is what a simulated fault fails with.
var errSimulated = errors.New("simulated: connection reset by the tax service")

type handler = func(context.Context, *headrace.Tx, *headrace.Message[order]) error

// withFaults fails the first runs of a generated webhook that asks for it, after the effect was written, so
// that the rollback is part of the story too. A restarted process may fail some of them again.
func withFaults(next handler) handler {
	return func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[order]) error {
		if err := next(ctx, tx, m); err != nil {
			return err
		}
		switch fault := m.Metadata[faultHeader]; {
		case fault == faultPanic && m.Attempt <= 1:
			panic("simulated: index out of range")
		case fault == faultTransient && m.Attempt <= transientRuns:
			return errSimulated
		}
		return nil
	}
}
