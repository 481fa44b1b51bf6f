package steps

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/headrace/headrace/internal/runner"
	"github.com/headrace/headrace/internal/sleep"
	"github.com/headrace/headrace/ledger"
)

// returned is what the function of a step has returned.
type returned struct {
	mu        sync.Mutex
	answer    ledger.Answer
	found     bool
	err       error
	has       bool // it has returned
	abandoned bool // the run has gone on without it
}

// call makes the call that row is the mark of.
func (d *doing) call(ctx context.Context, row *seen) ([]byte, error) {
	if d.run.Err() != nil || ctx.Err() != nil { // nothing was sent
		err := ledger.NotSent(fmt.Errorf("step %s did not begin: %w", d.r.Name, errors.Join(endOf(d.run), endOf(ctx))))
		return d.failed(ctx, row, d.key(&row.Row), err)
	}
	c := d.key(&row.Row)
	r := &returned{}
	late := func(a ledger.Answer, err error) { // it returns after all
		if err == nil {
			_, err = d.answered(context.WithoutCancel(ctx), &row.Row, a, c)
			d.arrived(d.m.ID, d.name, err)
		}
	}
	under, ended := d.Telemetry.Step(ctx, d.r.System, d.r.Name)
	d.invoke(under, r, late, func(ctx context.Context) (a ledger.Answer, found bool, err error) {
		a, err = d.r.Call(c.Trace(ctx), c)
		return a, true, err
	})
	ended(outcome(r.err, c), r.err != nil)
	if r.err != nil {
		d.limited(ctx, r.err)
		return d.failed(ctx, row, c, r.err)
	}
	d.owns = d.owns && r.answer.Result == nil // a result is shared
	result, err := d.answered(ctx, &row.Row, r.answer, c)
	if d.run.Err() != nil { // another holder may have parked the step meanwhile
		d.arrived(d.m.ID, d.name, err)
	}
	return result, err
}

// outcome names what the error of a call says of it, for metrics and spans.
func outcome(err error, c *ledger.Call) string {
	if err == nil {
		return "done"
	}
	switch ledger.CertaintyOf(err, c) {
	case ledger.CertainlyNotSent:
		return "not_sent"
	case ledger.CertainlyRefused, ledger.StatusRefused:
		return "refused"
	case ledger.AlreadyExists:
		return "exists"
	case ledger.PersonAsked:
		return "asked"
	}
	return "unknown"
}

// find calls the step's Find.
func (d *doing) find(ctx context.Context, c *ledger.Call) (ledger.Answer, bool, error) {
	r := &returned{}
	d.invoke(ctx, r, func(ledger.Answer, error) {}, func(ctx context.Context) (ledger.Answer, bool, error) { return d.r.Find(ctx, c) })
	d.limited(ctx, r.err)
	return r.answer, r.found, r.err
}

// invoke calls f under the step's Timeout. f's context ends with ctx and with the run. If
// f does not return in the grace after that, it is abandoned: r has an error, and late is
// called when f returns at last.
func (d *doing) invoke(ctx context.Context, r *returned, late func(ledger.Answer, error), f func(context.Context) (ledger.Answer, bool, error)) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(d.run, func() { cancel(context.Cause(d.run)) })()
	d.visit.Keep() // until f returns, although it may be abandoned
	var ended runner.Result
	lost := d.Runner.Run(ctx, func(s *runner.Session) {
		ended = s.Call(ctx, d.r.Timeout, d.what, func(ctx context.Context) error {
			defer d.visit.Leave()
			a, found, err := f(ctx)
			r.mu.Lock()
			abandoned := r.abandoned
			if !abandoned {
				r.answer, r.found, r.err, r.has = a, found, err, true
			}
			r.mu.Unlock()
			if abandoned {
				late(a, err)
			}
			return err
		})
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.abandoned = true
	switch {
	case r.has && r.err == nil: // also where the runner gave up at the same time
	case lost != nil:
		r.err = fmt.Errorf("step %s: %w", d.r.Name, lost.Err)
	default:
		r.err = ended.Err // with the end of its context, or a panic
	}
}

// failed records what came of a call that returned an error.
func (d *doing) failed(ctx context.Context, row *seen, c *ledger.Call, err error) ([]byte, error) {
	v := judge(d.r, ledger.CertaintyOf(err, c), err, d.earlier, d.repeated)
	err = ledger.Undecided(err, c)
	if v.state == ledger.Done {
		return d.exists(ctx, row, c, err)
	}
	end := row.Row
	if end.State, end.Error = v.state, d.text(err); v.renew {
		end.Generation++
	}
	if v.why != "" {
		d.warn("a step is parked: "+v.why, d.r, "error", end.Error)
		end.Error = v.why
	}
	failed := d.settle(end)
	switch {
	case v.state == ledger.Parked:
		return nil, d.parked(v.why, err)
	case v.state == ledger.Skipped && failed == nil:
		d.skipped()
		return nil, nil
	}
	return nil, fmt.Errorf("step %s (%s): %w", d.r.Name, d.r.System, err)
}

// exists adopts what the system says that it has already.
func (d *doing) exists(ctx context.Context, row *seen, c *ledger.Call, said error) ([]byte, error) {
	d.visit.Count() // Find does not wait here: its row is marked
	a, found, err := d.find(ctx, c)
	if err == nil && found {
		return d.done(ctx, &row.Row, a, c, ledger.ViaExists)
	}
	end := row.Row
	end.Error = d.text(said)
	if err == nil { // the search of the system may lag
		if err = d.tooEarly(row.since(row.Age), said); err == nil {
			end.State, end.Error = ledger.Parked, whyNotFound
			err = d.parked(whyNotFound, said)
		}
	} else {
		err = fmt.Errorf("find what step %s has made: %w", d.r.Name, err)
	}
	_ = d.settle(end)
	return nil, err
}

// maxTries is how often a result is written that others overwrite.
const maxTries = 100

// done records a result, and returns it, or the one that is recorded already.
func (d *doing) done(ctx context.Context, row *ledger.Row, a ledger.Answer, c *ledger.Call, via ledger.Via) ([]byte, error) {
	end := *row
	end.Result, end.ExternalID, end.Via, end.Error = a.Result, c.ID(), via, a.Unfit
	for try := 1; ; try++ {
		recorded, err := d.write(func(ctx context.Context) (bool, error) { return d.Steps.RecordDone(ctx, end) })
		if recorded {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("record the result of step %s: %w", d.r.Name, err)
		}
		now, found, err := d.readOne(row.Step)
		switch {
		case err != nil:
			return nil, fmt.Errorf("record the result of step %s: %w", d.r.Name, err)
		case !found: // the message was pruned
			d.warn("a result came for a message that is gone", d.r)
			return a.Result, nil
		case now.Via != "" && now.CallID != end.CallID:
			d.double(&now, end)
			return d.recorded(ctx, &now)
		}
		if now.Via != "" { // an earlier try, without an answer, has recorded it
			break
		}
		if try == maxTries || !sleep.For(d.Cancelled, conflictPause) {
			return nil, fmt.Errorf("the result of step %s is not recorded: its row is %s", d.r.Name, now.State)
		}
	}
	if a.Unfit != "" {
		d.warn("the result of a step cannot be kept: "+a.Unfit, d.r)
		return nil, d.parked(whyNoResult, ledger.ErrNoResult)
	}
	return a.Result, nil
}

// readOne reads the row as it is.
func (d *doing) readOne(step string) (row ledger.Row, found bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(d.Cancelled), max(d.StoreTimeout, time.Second))
	defer cancel()
	rows, err := d.read(ctx)
	for _, r := range rows {
		if r.Step == step {
			return r, true, nil
		}
	}
	return ledger.Row{}, false, err
}

// noID stands for what a second call made that has no id.
const noID = "(no id)"

// double records that two calls were carried out, where that can be seen: they made
// different things, or the system does not drop repetitions.
func (d *doing) double(first *ledger.Row, second ledger.Row) {
	switch {
	case first.ExternalID != "" && second.ExternalID != "":
		if first.ExternalID == second.ExternalID {
			return
		}
		second.OtherID = second.ExternalID
	case first.Via == ledger.ViaCall && second.Via == ledger.ViaCall && !dropped(d.r, first, second):
		if second.OtherID = second.ExternalID; second.OtherID == "" {
			second.OtherID = noID
		}
	default:
		return
	}
	second.Step = first.Step
	d.warn("a step was carried out twice", d.r, "external_id", first.ExternalID, "other_id", second.OtherID)
	_, _ = d.write(func(ctx context.Context) (bool, error) { return d.Steps.RecordDouble(ctx, second) })
	d.Wake()
}

// dropped reports whether the system drops the second of two calls, or it does no harm. Under
// two names of a step they have two keys.
func dropped(r *ledger.Request, first *ledger.Row, second ledger.Row) bool {
	return r.Recover == ledger.Retry && (first.Step == second.Step || r.KeyWindow == ledger.Forever)
}
