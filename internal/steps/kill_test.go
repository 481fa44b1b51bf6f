package steps_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/headrace/headrace/ledger"
)

// The points at which a process is killed.
const (
	beforeMark  = "before the mark"
	afterMark   = "after the mark"
	inTheCall   = "in the call, before it is carried out"
	afterCall   = "after the call"
	afterRecord = "after the record"
)

// DESIGN §3 Steps: a process is killed at each point, and the next run goes on. The number
// is the other system's own count of what it has carried out.
//
//evidence:ledger
func TestKill(t *testing.T) {
	type want struct {
		made  int
		state ledger.State
		via   ledger.Via
		calls int
	}
	done := func(via ledger.Via, calls int) want { return want{1, ledger.Done, via, calls} }
	for recovery, points := range map[ledger.Recovery]map[string]want{
		ledger.Retry: {
			beforeMark: done(ledger.ViaCall, 1), afterMark: done(ledger.ViaCall, 2), inTheCall: done(ledger.ViaCall, 2),
			afterCall: done(ledger.ViaCall, 2), afterRecord: done(ledger.ViaCall, 1),
		},
		ledger.Probe: {
			beforeMark: done(ledger.ViaCall, 1), afterMark: done(ledger.ViaCall, 2), inTheCall: done(ledger.ViaCall, 2),
			afterCall: done(ledger.ViaProbe, 1), afterRecord: done(ledger.ViaCall, 1),
		},
		ledger.Park: {
			beforeMark: done(ledger.ViaCall, 1), afterMark: {0, ledger.Parked, "", 1}, inTheCall: {0, ledger.Parked, "", 1},
			afterCall: {1, ledger.Parked, "", 1}, afterRecord: done(ledger.ViaCall, 1),
		},
		ledger.Skip: {
			beforeMark: done(ledger.ViaCall, 1), afterMark: {0, ledger.Skipped, "", 1}, inTheCall: {0, ledger.Skipped, "", 1},
			afterCall: {1, ledger.Skipped, "", 1}, afterRecord: done(ledger.ViaCall, 1),
		},
	} {
		for point, want := range points {
			t.Run(fmt.Sprint(recovery, " ", point), func(t *testing.T) {
				onEachDriver(t, func(b *bed) {
					erp := &system{drops: recovery == ledger.Retry}
					first, second := b.killed(recovery, erp, point)
					if first == nil && point != afterRecord {
						b.Error("the killed run had no error")
					}
					if (want.state == ledger.Parked) != parked(second) || want.state != ledger.Parked && second != nil {
						b.Errorf("the second run: %v", second)
					}
					row := b.row("invoice")
					if _, made := erp.count(); made != want.made || row.State != want.state || row.Via != want.via || row.Calls != want.calls {
						b.Errorf("carried out %d times, row %+v", made, row)
					}
					if row.State == ledger.Done && recovery != ledger.Skip && row.ExternalID != "inv_1" {
						b.Errorf("external id %q", row.ExternalID)
					}
					if sent := b.told(); (len(sent) == 1 && sent[0] == ledger.SkippedNow) != (want.state == ledger.Skipped) {
						b.Errorf("alerts %v", sent)
					}
				})
			})
		}
	}
}

// killed kills a run at a point, and runs the message again.
func (b *bed) killed(recovery ledger.Recovery, erp *system, point string) (first, second error) {
	run := func(point string) error {
		var r *run
		var ctx context.Context
		call := func(_ context.Context, c *ledger.Call) (invoice, error) {
			if point == inTheCall {
				r.kill()
				return invoice{}, errors.New("killed")
			}
			got := erp.create(c.Key)
			if c.SetID(got.ID); point == afterCall {
				r.kill()
			}
			return got, nil
		}
		var do func() error
		step := ledger.Step[invoice]{Name: "invoice", System: "erp", Recover: recovery}
		switch recovery {
		case ledger.Retry:
			step.KeyWindow = 24 * time.Hour
		case ledger.Probe:
			step.Find = erp.find
		case ledger.Skip:
			mail := ledger.Step[struct{}]{Name: "invoice", System: "erp", Recover: recovery}
			r, ctx = b.begin(mail)
			do = func() error {
				_, err := mail.Do(ctx, func(ctx context.Context, c *ledger.Call) (struct{}, error) {
					_, err := call(ctx, c)
					return struct{}{}, err
				})
				return err
			}
		}
		if do == nil {
			r, ctx = b.begin(step)
			do = func() error {
				got, err := step.Do(ctx, call)
				if err == nil && got.ID != "inv_1" {
					b.Errorf("result %+v", got)
				}
				return err
			}
		}
		switch point {
		case beforeMark:
			r.kill()
		case afterMark:
			r.killAfter.Store(1)
		case afterRecord:
			r.killAfter.Store(2)
		}
		err := do()
		r.End()
		return err
	}
	first = run(point)
	b.pass(10 * time.Minute)
	return first, run("")
}

// A COMMIT without an answer, at the mark and at the record, whether it has happened or
// not: one call, and its result is recorded.
//
//evidence:ledger
func TestUnknownCommit(t *testing.T) {
	for _, at := range []string{"mark", "record", "mark again"} {
		for _, happened := range []bool{true, false} {
			t.Run(fmt.Sprint(at, happened), func(t *testing.T) {
				onEachDriver(t, func(b *bed) {
					unanswered := func() {
						if happened {
							b.Store.Swallow(2)
						} else {
							b.Store.Lose(2)
						}
					}
					erp := &system{}
					step := ledger.Step[invoice]{Name: "invoice", System: "erp", Recover: ledger.Park}
					if at == "mark again" {
						r, ctx := b.begin(step)
						_, err := step.Do(ctx, func(context.Context, *ledger.Call) (invoice, error) {
							return invoice{}, ledger.NotSent(errors.New("no connection"))
						})
						if r.End(); err == nil {
							b.Error("no error")
						}
					}
					_, ctx := b.begin(step)
					if at != "record" {
						unanswered()
					}
					got, err := step.Do(ctx, func(_ context.Context, c *ledger.Call) (invoice, error) {
						if at == "record" {
							unanswered()
						}
						return erp.create(c.Key), nil
					})
					if calls, made := erp.count(); err != nil || got.ID != "inv_1" || calls != 1 || made != 1 {
						b.Errorf("%+v, %v, %d calls, %d made", got, err, calls, made)
					}
					b.state("invoice", ledger.Done)
					if sent := b.told(); len(sent) != 0 {
						b.Errorf("alerts %v", sent)
					}
				})
			})
		}
	}
}

// One that has lost its lease begins nothing.
//
//evidence:ledger
func TestLostLeaseBeginsNothing(t *testing.T) {
	onEachStore(t, func(b *bed) {
		step := ledger.Step[invoice]{Name: "invoice", System: "erp", Recover: ledger.Park}
		_, ctx := b.begin(step)
		b.takeOver()
		_, err := step.Do(ctx, func(context.Context, *ledger.Call) (invoice, error) {
			b.Error("called")
			return invoice{}, nil
		})
		if !errors.Is(err, ledger.ErrLost) {
			b.Errorf("%v", err)
		}
		if r := b.row("invoice"); r.Step != "" {
			b.Errorf("row %+v", r)
		}
	})
}

// A late answer is knowledge: it turns what was parked into done, although its lease is
// lost, and although a person has begun a new generation.
//
//evidence:ledger
func TestLateAnswer(t *testing.T) {
	for _, anew := range []bool{false, true} {
		t.Run(fmt.Sprint("anew ", anew), func(t *testing.T) {
			onEachStore(t, func(b *bed) {
				erp := &system{}
				step := ledger.Step[invoice]{Name: "invoice", System: "erp", Recover: ledger.Park}
				_, ctx := b.begin(step)
				got, err := step.Do(ctx, func(_ context.Context, c *ledger.Call) (invoice, error) {
					b.Exec("UPDATE headrace_steps SET state = 'parked', error = 'unknown'") // the next holder's
					if anew {
						b.Exec("UPDATE headrace_steps SET state = 'failed', generation = generation + 1, first_call_at = NULL")
					}
					b.takeOver()
					inv := erp.create(c.Key)
					c.SetID(inv.ID)
					return inv, nil
				})
				if err != nil || got.ID != "inv_1" {
					b.Errorf("%+v, %v", got, err)
				}
				if r := b.row("invoice"); r.State != ledger.Done || r.ExternalID != "inv_1" || r.Error != "" || r.Generation != 0 {
					b.Errorf("%+v", r)
				}
			})
		})
	}
}

// A late refusal is of no other call: what another holder has recorded stays.
func TestLateRefusal(t *testing.T) {
	onEachStore(t, func(b *bed) {
		step := ledger.Step[invoice]{Name: "invoice", System: "erp", Recover: ledger.Retry, KeyWindow: ledger.Forever}
		_, ctx := b.begin(step)
		_, err := step.Do(ctx, func(context.Context, *ledger.Call) (invoice, error) {
			b.Exec("UPDATE headrace_steps SET call_id = 'another', calls = 2")
			return invoice{}, ledger.Refused(errors.New("declined"))
		})
		if err == nil {
			b.Error("no error")
		}
		b.state("invoice", ledger.Pending)
	})
}

// A call that ignores its context does not hold the run, and its late result is recorded.
//
//evidence:ledger
func TestCallThatIgnoresItsContext(t *testing.T) {
	onEachStore(t, func(b *bed) {
		release, entered := make(chan struct{}), make(chan struct{})
		step := ledger.Step[invoice]{Name: "invoice", System: "erp", Recover: ledger.Park, Timeout: 20 * time.Millisecond}
		r, ctx := b.begin(step)
		_, err := step.Do(ctx, func(_ context.Context, c *ledger.Call) (invoice, error) {
			close(entered)
			<-release
			c.SetID("inv_9")
			return invoice{"inv_9"}, nil
		})
		<-entered
		r.End()
		if !parked(err) {
			b.Errorf("%v", err)
		}
		b.state("invoice", ledger.Parked)
		close(release)
		b.Eventually("the late result is recorded", func() bool { return b.row("invoice").State == ledger.Done })
		if row := b.row("invoice"); row.ExternalID != "inv_9" || string(row.Result) != `{"ID":"inv_9"}` {
			b.Errorf("%+v", row)
		}
	})
}

// Two calls that were both carried out are told, and what the second one made is kept.
//
//evidence:ledger
func TestDouble(t *testing.T) {
	for name, c := range map[string]struct {
		recovery      ledger.Recovery
		first, second string
		other         string
	}{
		"two ids":                          {ledger.Retry, "inv_1", "inv_2", "inv_2"},
		"one id":                           {ledger.Retry, "inv_1", "inv_1", ""},
		"no ids, dropped":                  {ledger.Retry, "", "", ""},
		"no ids, of a system that doubles": {ledger.Park, "", "", "(no id)"},
		"the second has an id":             {ledger.Park, "", "inv_2", "inv_2"},
	} {
		t.Run(name, func(t *testing.T) {
			onEachStore(t, func(b *bed) {
				step := ledger.Step[invoice]{Name: "invoice", System: "erp", Recover: c.recovery}
				if c.recovery == ledger.Retry {
					step.KeyWindow = ledger.Forever
				}
				_, ctx := b.begin(step)
				got, err := step.Do(ctx, func(_ context.Context, call *ledger.Call) (invoice, error) {
					b.Exec("UPDATE headrace_steps SET state = 'done', via = 'call', call_id = 'first', result = $1, external_id = $2", []byte(`{"ID":"one"}`), c.first)
					call.SetID(c.second)
					return invoice{"two"}, nil
				})
				if err != nil || got.ID != "one" { // the first one's result counts
					b.Errorf("%+v, %v", got, err)
				}
				if row := b.row("invoice"); row.OtherID != c.other || row.ExternalID != c.first {
					b.Errorf("%+v", row)
				}
				if sent := b.told(); (len(sent) == 1 && sent[0] == ledger.Doubled) != (c.other != "") {
					b.Errorf("alerts %v", sent)
				}
			})
		})
	}
}
