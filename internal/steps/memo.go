package steps

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/headrace/headrace/internal/sleep"
	"github.com/headrace/headrace/internal/systems"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/retry"
)

// How a step waits for the call of another message: it looks after pauses that double, and
// after memoWait its message is put off, until the other's term is over or memoLook.
const (
	firstMemoPause = 5 * time.Millisecond
	lastMemoPause  = 200 * time.Millisecond
	memoWait       = time.Second
	memoLook       = 30 * time.Second
	// memoGrace is how long after its Timeout a call still has its Memo.
	memoGrace = 5 * time.Second
)

// memo names the result that the step shares.
func (d *doing) memo() ledger.Memo {
	return ledger.Memo{System: d.r.System, Name: d.r.Name, Input: d.r.InputHash, Token: d.id}
}

// sharing is a Do whose step has a Memo.
type sharing struct{ *doing }

// begin brings the step to its turn to make the call for all messages. It reports true if
// the step has the result of another one now, or its row has changed: look again.
func (d sharing) begin(ctx context.Context, was *seen) (again bool, err error) {
	if was == nil && d.full() {
		return false, tooMany("step " + d.r.Name)
	}
	began, hadTurn := time.Now(), false
	for pause := firstMemoPause; ; pause = min(2*pause, lastMemoPause) {
		var state ledger.MemoState
		var left time.Duration
		err := d.until(ctx, func(ctx context.Context) (err error) {
			state, left, err = d.Memos.Take(ctx, d.memo(), d.r.Timeout+memoGrace)
			return err
		})
		switch {
		case err != nil:
			return false, fmt.Errorf("begin step %s: %w", d.r.Name, err)
		case state == ledger.MemoKnown:
			return true, d.adopt(ctx)
		case state == ledger.MemoTaken && hadTurn:
			d.Telemetry.Memo(d.r.System, d.r.Name, "miss")
			return false, nil
		case state == ledger.MemoTaken:
			d.owns = true
			taken := time.Now()
			if err := d.turn(ctx); err != nil {
				return false, err
			}
			if !d.visit.Limited() && time.Since(taken) < memoGrace/2 { // the term covers the call
				d.Telemetry.Memo(d.r.System, d.r.Name, "miss")
				return false, nil
			}
			hadTurn = true // has another one the call now?
			continue
		}
		d.owns = false
		if time.Since(began) < memoWait && sleep.For(ctx, pause) {
			continue
		}
		d.Telemetry.Memo(d.r.System, d.r.Name, "wait")
		return false, retry.Postpone(systems.Spread(min(left, memoLook), d.m.ID.Key), fmt.Errorf("step %s: another message makes the same call", d.r.Name))
	}
}

// adopt records the shared result as that of the step, under the lease, if it is still there.
func (d sharing) adopt(ctx context.Context) error {
	row := ledger.Row{ID: d.m.ID, Step: d.name, CallID: d.id}
	adopted, err := d.fenced(ctx, func(ctx context.Context) (bool, error) { return d.Memos.Adopt(ctx, d.memo(), d.m.Lease, row) })
	if err != nil {
		return fmt.Errorf("begin step %s: %w", d.r.Name, err)
	}
	if adopted {
		d.Telemetry.Memo(d.r.System, d.r.Name, "hit")
	}
	return d.again(ctx)
}

// answered records the answer of a call. Of a Memo the first one counts for all messages.
func (d *doing) answered(ctx context.Context, row *ledger.Row, a ledger.Answer, c *ledger.Call) ([]byte, error) {
	if d.r.Memo == 0 || a.Result == nil {
		return d.done(ctx, row, a, c, ledger.ViaCall)
	}
	var first []byte
	_, err := d.write(func(ctx context.Context) (_ bool, err error) {
		first, err = d.Memos.Put(ctx, d.memo(), a.Result, d.r.Memo)
		return true, err
	})
	if err != nil || bytes.Equal(first, a.Result) { // after an error it is known here alone
		return d.done(ctx, row, a, c, ledger.ViaCall)
	}
	return d.done(ctx, row, ledger.Answer{Result: first}, &ledger.Call{}, ledger.ViaMemo)
}

// release lets another message make the call, if this one has not. Where the database is
// away, the end of the term does.
func (d *doing) release(ctx context.Context) {
	if !d.owns {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.StoreTimeout)
	defer cancel()
	_ = d.Memos.Release(ctx, d.memo())
}
