package resolve_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/enginetest"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/ledger/resolve"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/txn"
)

var approval = ledger.Signal[string]{Name: "approval", Timeout: time.Hour}

// waiting runs f on each database with the message "m", which is put off for an hour.
func waiting(t *testing.T, f func(*bed)) {
	enginetest.OnEachStore(t, func(x *enginetest.Fixture) {
		h := enginetest.Handler("orders", func(context.Context, *headrace.Tx, task.Input) error {
			return retry.Postpone(time.Hour, errors.New("it waits for a signal"))
		})
		b := &bed{x, h, inbox.ID{Scope: h.Scope, Key: "m"}, resolve.New(x.Store.Store)}
		x.Engine(nil).Deliver(h, "m")
		f(b)
	})
}

// await records that the message waits for the signal for d from now on.
func (b *bed) await(d time.Duration) {
	b.Helper()
	b.In(func(t *txn.Txn) error {
		_, err := b.Store.Operations().Signals.Await(b.Context(), t, ledger.Row{ID: b.id, Step: "approval"}, d)
		return err
	})
}

func (b *bed) signal() ledger.Row {
	b.Helper()
	rows, err := b.Store.Operations().Steps.List(b.Context(), b.id)
	if err != nil || len(rows) > 1 {
		b.Fatalf("%+v, %v", rows, err)
	}
	return append(rows, ledger.Row{})[0]
}

// due is how many rows of the backlog are due, and not put off any more.
func (b *bed) due() int {
	b.Helper()
	now := "now()"
	if b.SQLite {
		now = strconv.FormatInt(time.Now().Add(time.Second).UnixMicro(), 10)
	}
	return b.Count("SELECT count(*) FROM headrace_backlog WHERE status = 'delayed' AND due_at <= " + now + " AND postponed_at IS NULL")
}

func (b *bed) send(value string) error { return approval.Send(b.Context(), b.admin, b.id, value) }

// A signal is recorded, and its message due, in one commit. The same again is no error, so
// that a sender may repeat a Send whose answer was lost, and another value is one.
//
//evidence:signal
func TestSend(t *testing.T) {
	for _, early := range []bool{false, true} {
		t.Run("early "+strconv.FormatBool(early), func(t *testing.T) {
			waiting(t, func(b *bed) {
				if !early {
					b.await(time.Hour)
				}
				if b.due() != 0 {
					b.Fatal("it is due before")
				}
				if err := b.send("yes"); err != nil {
					b.Fatal(err)
				}
				if r := b.signal(); r.State != ledger.Done || r.Via != ledger.ViaSignal || string(r.Result) != `"yes"` || b.due() != 1 {
					b.Errorf("%+v, %d due", r, b.due())
				}
				if err := b.send("yes"); err != nil {
					b.Errorf("the same again: %v", err)
				}
				if err := b.send("no"); !errors.Is(err, ledger.ErrInput) {
					b.Errorf("another value: %v", err)
				}
				if r := b.signal(); string(r.Result) != `"yes"` {
					b.Errorf("%s", r.Result)
				}
			})
		})
	}
}

// Of several values that are sent at once one counts, and the others are told.
func TestSendAtOnce(t *testing.T) {
	waiting(t, func(b *bed) {
		b.await(time.Hour)
		var sends sync.WaitGroup
		var taken, refused atomic.Int64
		for n := range 8 {
			sends.Go(func() {
				switch err := b.send(strconv.Itoa(n)); {
				case err == nil:
					taken.Add(1)
				case errors.Is(err, ledger.ErrInput):
					refused.Add(1)
				default:
					b.Error(err)
				}
			})
		}
		sends.Wait()
		if taken.Load() != 1 || refused.Load() != 7 {
			b.Errorf("%d taken, %d refused", taken.Load(), refused.Load())
		}
	})
}

// A signal that nothing waits for any more, or that no message can take, is refused.
func TestSendIsRefused(t *testing.T) {
	waiting(t, func(b *bed) {
		unknown := inbox.ID{Scope: b.id.Scope, Key: "another"}
		if err := approval.Send(b.Context(), b.admin, unknown, "yes"); !errors.Is(err, ledger.ErrUnknown) {
			b.Errorf("an unknown key: %v", err)
		}
		awaited := ledger.Sent{ID: b.id, Step: "approval", Value: []byte(`"yes"`), Awaited: true}
		if err := b.admin.Send(b.Context(), awaited); !errors.Is(err, resolve.ErrRefused) {
			b.Errorf("one that is not awaited: %v", err)
		}
		for _, bad := range []ledger.Sent{{ID: b.id, Step: "approval"}, {ID: b.id, Step: "approval", Value: []byte("{")}, {ID: b.id, Value: []byte("1")}} {
			if err := b.admin.Send(b.Context(), bad); !errors.Is(err, resolve.ErrInvalid) {
				b.Errorf("%+v: %v", bad, err)
			}
		}
		b.await(time.Microsecond)
		b.Eventually("its time is over", func() bool { return b.signal().Age > 0 })
		if err := b.send("yes"); !errors.Is(err, ledger.ErrNoSignal) {
			b.Errorf("too late: %v", err)
		}
		if _, err := b.admin.Resolve(b.Context(), resolve.Resolution{ID: b.id, Step: "approval", Decision: resolve.Done, By: "ana", Reason: "x", Force: true}); !errors.Is(err, resolve.ErrRefused) {
			b.Errorf("a resolution of a signal: %v", err)
		}
		b.Exec("UPDATE headrace_steps SET state = 'pending', system = 'bank'")
		if err := b.send("yes"); !errors.Is(err, resolve.ErrRefused) {
			b.Errorf("a step: %v", err)
		}
		b.Exec("DELETE FROM headrace_steps")
	})
}

// A callback finds its message by what a step made.
func TestByExternalID(t *testing.T) {
	onEachStore(t, ledger.Done, []string{"payout"}, func(b *bed) {
		b.Exec("UPDATE headrace_steps SET external_id = 'po_1'")
		if id, err := b.admin.ByExternalID(b.Context(), "bank", "po_1"); err != nil || id != b.id {
			b.Errorf("%+v, %v", id, err)
		}
		if _, err := b.admin.ByExternalID(b.Context(), "bank", "po_2"); !errors.Is(err, resolve.ErrNotFound) {
			b.Errorf("%v", err)
		}
		b.Exec("INSERT INTO headrace_steps (scope, key, step, system, state, call_id, input_hash, external_id, via, last_call_at, changed_at) " +
			"SELECT scope, 'other', step, system, state, call_id, input_hash, external_id, via, last_call_at, changed_at FROM headrace_steps")
		if _, err := b.admin.ByExternalID(b.Context(), "bank", "po_1"); !errors.Is(err, resolve.ErrRefused) {
			b.Errorf("%v", err)
		}
		b.Exec("DELETE FROM headrace_steps WHERE key = 'other'")
	})
}
