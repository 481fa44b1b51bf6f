package steps

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/systems"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/txn"
)

// doing is one Do.
type doing struct {
	*Session
	r    *ledger.Request
	name string // of the row: the step's whole name, or the former one that it is recorded under
	id   string // names our call; the same for every try to mark it
	// earlier says that the outcome of an earlier call of the key is unknown.
	earlier bool
	// repeated says that a person has the key of an earlier call used again.
	repeated bool
	visit    *systems.Visit // nil before the first call
	owns     bool           // its call is that of the Memo
}

// do brings the step to an end, or to an error for the handler.
func (d *doing) do(ctx context.Context) ([]byte, error) {
	probed := "" // the call that Find did not find
	for {
		was, others := d.row(d.r)
		n := decision{action: call}
		if was != nil {
			if was.CallID == d.id && was.State == ledger.Pending {
				return d.call(ctx, was) // our mark is committed, although it had no answer
			}
			if again, err := (passing{d}).pass(ctx, was, others); err != nil {
				return nil, err
			} else if again {
				continue
			}
			d.name = was.Step
			n = next(d.r, &was.Row, was.since(was.Age))
		}
		if d.lost(was) {
			if err := d.open(ctx, was); err != nil {
				return nil, err
			}
			continue
		}
		if n.action == find && probed == was.CallID {
			n.action = call
		}
		if n.action == call && d.r.Memo > 0 {
			if again, err := (sharing{d}).begin(ctx, was); again || err != nil {
				if err != nil {
					return nil, err
				}
				continue
			}
		} else if n.action == call || n.action == find {
			if err := d.turn(ctx); err != nil {
				return nil, err
			}
		}
		switch n.action {
		case give:
			d.Telemetry.StepReplayed(d.r.System, d.r.Name)
			return d.recorded(ctx, &was.Row)
		case mismatch:
			return nil, retry.Permanent(fmt.Errorf("step %s: %w: %s", d.r.Name, ledger.ErrInput, ifItCounts))
		case stop:
			return nil, d.stopped(&was.Row, n.why)
		case find:
			result, found, err := d.probe(ctx, was)
			if found || err != nil {
				return result, err
			}
			probed = was.CallID
			continue
		}
		result, ended, err := d.advance(ctx, was, n)
		if ended || err != nil {
			return result, err
		}
	}
}

// open records, in suspect mode, that a call may have been made: the step goes on as after
// one without an answer.
func (d *doing) open(ctx context.Context, was *seen) error {
	if was == nil && d.full() {
		return tooMany("step " + d.r.Name)
	}
	row := ledger.Row{ID: d.m.ID, Step: d.name, System: d.r.System, CallID: newCallID(), InputHash: d.r.InputHash, Sent: d.m.Sent, Unsettled: d.r.Unsettled()}
	return d.change(ctx, "begin step "+d.r.Name, func(ctx context.Context, t *txn.Txn) (bool, error) { return d.Suspect.MarkOpen(ctx, t, row) })
}

// tooMany is the error of a step or signal for which there is no room.
func tooMany(what string) error {
	return retry.Permanent(fmt.Errorf("%s: a message has at most %d steps", what, ledger.MaxSteps))
}

// advance writes what was decided about the row, under the lease, and makes the call if
// that was it. It reports false if the row has changed meanwhile, or may have: look again.
func (d *doing) advance(ctx context.Context, was *seen, n decision) (result []byte, ended bool, err error) {
	row := ledger.Row{
		ID: d.m.ID, Step: d.name, System: d.r.System, State: ledger.Pending, Calls: 1, CallID: d.id, InputHash: d.r.InputHash,
		Sent: d.m.Sent, Unsettled: d.r.Unsettled(),
	}
	if was != nil {
		row.Generation = was.Generation
	}
	var changed bool
	var end ledger.Row
	switch {
	case n.action == park || n.action == skip:
		end = was.Row
		if end.State, end.Error = ledger.Parked, n.why; n.action == skip {
			end.State, end.Error = ledger.Skipped, whyUnknown
		}
		changed, err = d.fenced(ctx, func(ctx context.Context) (bool, error) { return d.Steps.RecordOutcome(ctx, d.m.Lease, end) })
	case was == nil && d.full():
		return nil, true, tooMany("step " + d.r.Name)
	case was == nil:
		changed, err = d.fenced(ctx, func(ctx context.Context) (bool, error) { return d.Steps.Mark(ctx, d.m.Lease, row) })
	default:
		row.Calls = was.Calls + 1
		d.earlier = was.State == ledger.Pending
		d.repeated = was.State == ledger.Failed && was.By != "" && was.Age > 0 // not the first call of its key
		changed, err = d.fenced(ctx, func(ctx context.Context) (bool, error) { return d.Steps.Repeat(ctx, d.m.Lease, was.Row, row) })
	}
	switch {
	case err == nil && !changed:
		return nil, false, d.again(ctx)
	case err != nil:
		return nil, true, fmt.Errorf("begin step %s: %w", d.r.Name, err)
	case n.action == park:
		return nil, true, d.stopped(&end, n.why)
	case n.action == skip:
		d.skipped()
		return nil, true, nil
	}
	mine := &seen{row, time.Now()}
	if was == nil {
		d.mu.Lock()
		d.fresh++
		d.mu.Unlock()
	} else {
		mine.Age = was.since(was.Age)
	}
	result, err = d.call(ctx, mine)
	return result, true, err
}

// key is the Call of a row: the key of its generation.
func (d *doing) key(row *ledger.Row) *ledger.Call {
	return &ledger.Call{
		Key: encode.IdempotencyKey(d.m.Database, row.ID.Scope, row.ID.Key, row.Step, row.Generation), Number: row.Calls,
	}
}

// recorded returns a recorded result; nil for a step that was skipped.
func (d *doing) recorded(ctx context.Context, row *ledger.Row) (result []byte, err error) {
	switch {
	case row.LacksResult():
		return nil, d.stopped(row, whyLacks(row))
	case !d.r.HasResult, row.Size < 0:
		return row.Result, nil
	}
	return d.result(ctx, row)
}

// result returns a recorded result, which a list may have left out.
func (s *Session) result(ctx context.Context, row *ledger.Row) (result []byte, err error) {
	if row.Result != nil {
		return row.Result, nil
	}
	err = s.until(ctx, func(ctx context.Context) error {
		result, err = s.Steps.Result(ctx, s.m.ID, row.Step)
		return err
	})
	return result, err
}

// probe asks the system for the result of a call whose outcome is unknown. Nothing found
// counts only when the system has had the time to carry it out.
func (d *doing) probe(ctx context.Context, was *seen) (result []byte, found bool, err error) {
	c := d.key(&was.Row)
	a, found, err := d.find(ctx, c)
	switch {
	case err != nil:
		return nil, false, fmt.Errorf("find out whether step %s was carried out: %w", d.r.Name, err)
	case found:
		result, err = d.done(ctx, &was.Row, a, c, ledger.ViaProbe)
		return result, true, err
	}
	return nil, false, d.tooEarly(was.since(was.Idle), nil)
}

// tooEarly returns an error that puts the message off if the system may still work on a
// call that began idle ago.
func (d *doing) tooEarly(idle time.Duration, cause error) error {
	wait := d.r.Unsettled() - idle
	if wait <= 0 {
		return nil
	}
	if cause == nil {
		cause = errors.New(whyUnknown)
	}
	return retry.PostponeWithin(wait, d.m.Postponed+wait+time.Minute, fmt.Errorf("step %s: %s may still work on a call: %w", d.r.Name, d.r.System, cause))
}

// parked is the error for a person, who finds the step by the name that is recorded.
func (d *doing) parked(why string, cause error) error {
	return retry.Permanent(&ledger.ParkedError{Step: ledger.NameOf(d.name), System: d.r.System, Reason: why, Err: cause})
}

// stopped is parked for a row that says so.
func (d *doing) stopped(row *ledger.Row, why string) error {
	if row.LacksResult() {
		return d.parked(why, ledger.ErrNoResult)
	}
	return d.parked(why, nil)
}

// skipped tells people that a step was skipped.
func (d *doing) skipped() {
	d.warn("a step was skipped: "+whyUnknown, d.r)
	d.Wake()
}
