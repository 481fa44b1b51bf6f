package steps_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// suspect begins suspect mode.
func (b *bed) suspect(until time.Time) {
	b.Helper()
	err := store.Transact(b.Context(), b.Store, func(t *txn.Txn) error {
		return b.Store.Operations().Suspect.Begin(b.Context(), t, ledger.SuspectMode{Until: until, By: "ana", Reason: "a restore"})
	})
	if err != nil {
		b.Fatal(err)
	}
}

// restore removes the steps, as a backup from before them does.
func (b *bed) restore() {
	b.Helper()
	b.Exec("DELETE FROM headrace_steps")
}

// invoiceStep is a step of each recovery, done with create.
func (b *bed) invoiceStep(recovery ledger.Recovery, erp *system) error {
	b.Helper()
	if recovery == ledger.Skip {
		mail := ledger.Step[struct{}]{Name: "invoice", System: "erp", Recover: recovery}
		r, ctx := b.begin(mail)
		defer r.End()
		_, err := mail.Do(ctx, func(_ context.Context, c *ledger.Call) (struct{}, error) {
			erp.create(c.Key)
			return struct{}{}, nil
		})
		return err
	}
	step := ledger.Step[invoice]{Name: "invoice", System: "erp", Recover: recovery}
	switch recovery {
	case ledger.Retry:
		step.KeyWindow = 24 * time.Hour
	case ledger.Probe:
		step.Find = erp.find
	}
	got, err := b.do(step, func(c *ledger.Call) (invoice, error) {
		made := erp.create(c.Key)
		c.SetID(made.ID)
		return made, nil
	})
	if err == nil && got.ID != "inv_1" {
		b.Errorf("result %+v", got)
	}
	return err
}

// A restore loses the row of a call that was carried out. In suspect mode it is not carried
// out a second time, whatever the recovery. The number is the other system's own count.
//
//evidence:suspect-mode
func TestSuspectAfterARestore(t *testing.T) {
	for recovery, want := range map[ledger.Recovery]struct {
		calls int // of both runs
		state ledger.State
		via   ledger.Via
	}{
		ledger.Retry: {2, ledger.Done, ledger.ViaCall},
		ledger.Probe: {1, ledger.Done, ledger.ViaProbe},
		ledger.Park:  {1, ledger.Parked, ""},
		ledger.Skip:  {1, ledger.Skipped, ""},
	} {
		for name, sent := range map[string]time.Duration{"sent before": -time.Hour, "sent at an unknown time": 0, "sent after": time.Hour} {
			if recovery == ledger.Retry && sent == 0 {
				continue // see TestSuspectKeyWindow
			}
			t.Run(fmt.Sprint(recovery, " ", name), func(t *testing.T) {
				onEachStore(t, func(b *bed) {
					erp := &system{drops: recovery == ledger.Retry}
					if err := b.invoiceStep(recovery, erp); err != nil {
						b.Fatal(err)
					}
					b.restore()
					until := time.Now()
					b.suspect(until)
					if sent != 0 {
						b.sent = until.Add(sent)
					}
					if sent > 0 { // a new message: the call is made
						if err := b.invoiceStep(recovery, &system{}); err != nil || b.row("invoice").Calls != 1 {
							b.Errorf("%v, %+v", err, b.row("invoice"))
						}
						return
					}
					err := b.invoiceStep(recovery, erp)
					if parked(err) != (want.state == ledger.Parked) || err != nil && !parked(err) {
						b.Error(err)
					}
					row := b.row("invoice")
					if calls, made := erp.count(); made != 1 || calls != want.calls || row.State != want.state || row.Via != want.via {
						b.Errorf("carried out %d times in %d calls, row %+v", made, calls, row)
					}
					if err := b.invoiceStep(recovery, erp); (err != nil) != (want.state == ledger.Parked) {
						b.Errorf("the next run: %v", err)
					}
					if calls, made := erp.count(); made != 1 || calls != want.calls {
						b.Errorf("the next run: carried out %d times in %d calls", made, calls)
					}
				})
			})
		}
	}
}

// Where nothing is found, the call was not made: it is made when the system has had its time.
//
//evidence:suspect-mode
func TestSuspectProbeFindsNothing(t *testing.T) {
	onEachStore(t, func(b *bed) {
		erp := &system{}
		b.sent = time.Now().Add(-time.Hour)
		b.suspect(time.Now())
		err := b.invoiceStep(ledger.Probe, erp)
		if _, _, ok := retry.Postponed(err); !ok {
			b.Fatalf("a call of a moment ago may still be carried out: %v", err)
		}
		b.pass(10 * time.Minute)
		if err := b.invoiceStep(ledger.Probe, erp); err != nil {
			b.Error(err)
		}
		if calls, made := erp.count(); calls != 1 || made != 1 {
			b.Errorf("carried out %d times in %d calls", made, calls)
		}
	})
}

// The window of a key is counted from the time of the message: the lost call is not older.
//
//evidence:suspect-mode
func TestSuspectKeyWindow(t *testing.T) {
	for name, c := range map[string]struct {
		ago  time.Duration // 0: unknown
		find bool
		want ledger.State
	}{
		"within":              {23 * time.Hour, false, ledger.Done},
		"over":                {25 * time.Hour, false, ledger.Parked},
		"over, with Find":     {25 * time.Hour, true, ledger.Done},
		"unknown":             {0, false, ledger.Parked},
		"unknown, with Find":  {0, true, ledger.Done},
		"without end, within": {48 * time.Hour, false, ledger.Done},
	} {
		t.Run(name, func(t *testing.T) {
			onEachStore(t, func(b *bed) {
				bank := &system{drops: true}
				step := charge
				if c.find {
					step.Find = bank.find
				}
				if name == "without end, within" {
					step.KeyWindow = ledger.Forever
				}
				call := func(call *ledger.Call) (invoice, error) { return bank.create(call.Key), nil }
				if _, err := b.do(step, call); err != nil {
					b.Fatal(err)
				}
				b.restore()
				if c.ago != 0 {
					b.sent = time.Now().Add(-c.ago)
				}
				b.suspect(time.Now())
				bank.drops = c.want == ledger.Done && !c.find // it has forgotten the key
				_, err := b.do(step, call)
				if b.state("charge", c.want); parked(err) != (c.want == ledger.Parked) {
					b.Error(err)
				}
				if _, made := bank.count(); made != 1 {
					b.Errorf("carried out %d times", made)
				}
			})
		})
	}
}

// The backup knows that a call failed; the next one was carried out, and is lost.
//
//evidence:suspect-mode
func TestSuspectFailedRow(t *testing.T) {
	onEachStore(t, func(b *bed) {
		erp := &system{}
		step := ledger.Step[invoice]{Name: "invoice", System: "erp", Recover: ledger.Probe, Find: erp.find}
		var keys []string
		_, _ = b.do(step, fails(&keys, ledger.NotSent(errBoom)))
		erp.create(keys[0]) // after the backup
		b.suspect(time.Now().Add(time.Second))
		got, err := b.do(step, func(*ledger.Call) (invoice, error) { b.Error("called"); return invoice{}, nil })
		if _, made := erp.count(); err != nil || got.ID != "inv_1" || made != 1 {
			b.Errorf("%+v, %v, carried out %d times", got, err, made)
		}
	})
	onEachStoreOf(t, "since the mode began", func(b *bed) {
		b.suspect(time.Now().Add(time.Hour))
		b.Exec("UPDATE headrace_meta SET suspect_since = suspect_since - " + b.Span(time.Second))
		step := ledger.Step[invoice]{Name: "invoice", System: "erp", Recover: ledger.Park}
		_, err := b.do(step, fails(new([]string), nil))
		if !parked(err) {
			b.Fatal(err)
		}
		b.Exec("UPDATE headrace_steps SET state = 'failed', error = ''") // a person: nothing was done
		var keys []string
		if _, err := b.do(step, fails(&keys, nil)); err != nil || len(keys) != 1 {
			b.Errorf("%v, %d calls", err, len(keys))
		}
	})
}

// A run notices that the mode begins and ends, without asking before each step.
//
//evidence:suspect-mode
func TestSuspectBeginsInARun(t *testing.T) {
	onEachStore(t, func(b *bed) {
		step := ledger.Step[invoice]{Name: "invoice", System: "erp", Recover: ledger.Park}
		r, ctx := b.begin(step)
		defer r.End()
		calls := 0
		do := func(item string) error {
			_, err := step.Of(item).Do(ctx, func(context.Context, *ledger.Call) (invoice, error) { calls++; return invoice{}, nil })
			return err
		}
		if err := do("1"); err != nil {
			b.Fatal(err)
		}
		b.suspect(time.Now())
		if err := do("2"); !parked(err) || calls != 1 {
			b.Errorf("%v, %d calls", err, calls)
		}
		err := store.Transact(b.Context(), b.Store, func(t *txn.Txn) error {
			was, err := b.Store.Operations().Suspect.End(b.Context(), t)
			return errors.Join(err, map[bool]error{false: errors.New("it was off")}[was])
		})
		if err != nil {
			b.Fatal(err)
		}
		if err := do("3"); err != nil || calls != 2 {
			b.Errorf("%v, %d calls", err, calls)
		}
	})
}
