package steps

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/ledger"
)

// passing is a Do whose step has rows under several names.
type passing struct{ *doing }

// pass lets the step go on with the row that is furthest, past those that it has under other
// names. One that is failed did nothing. A call of one that is open may have been carried out
// too, under another key: a person looks. pass reports true if a row has changed meanwhile, or
// may have: look again.
func (d passing) pass(ctx context.Context, was *seen, others []seen) (again bool, err error) {
	for i := range others {
		switch other := &others[i].Row; {
		case other.State == ledger.Done && was.OtherID == "":
			d.double(&was.Row, *other)
		case other.LacksResult():
			d.name = other.Step
			return false, d.stopped(other, whyLacks(other))
		case other.State == ledger.Parked:
			d.name = other.Step
			return false, d.stopped(other, other.Error)
		case other.State == ledger.Pending:
			return d.leaveOpen(ctx, *other)
		}
	}
	return false, nil
}

// leaveOpen records that a call under another name of the step needs a person, or is skipped.
func (d passing) leaveOpen(ctx context.Context, other ledger.Row) (again bool, err error) {
	other.State, other.Error = ledger.Parked, whyOther
	if d.r.Recover == ledger.Skip {
		other.State, other.Error = ledger.Skipped, whyUnknown
	}
	changed, err := d.fenced(ctx, func(ctx context.Context) (bool, error) { return d.Steps.RecordOutcome(ctx, d.m.Lease, other) })
	switch {
	case err != nil:
		return false, fmt.Errorf("begin step %s: %w", d.r.Name, err)
	case changed && other.State == ledger.Parked:
		d.name = other.Step
		return false, d.stopped(&other, whyOther)
	case changed:
		d.skipped()
	}
	return true, d.again(ctx)
}
