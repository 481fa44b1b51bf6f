package intervene_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/audit"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/enginetest"
	"github.com/headrace/headrace/internal/intervene"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/ledger/resolve"
)

// step records a step of a message that was called a day ago.
func (f *fixture) step(h *task.Handler, key string, state ledger.State, result any) inbox.ID {
	f.Helper()
	f.Exec(`INSERT INTO headrace_steps (scope, key, step, system, state, call_id, input_hash, via, result, error, first_call_at, last_call_at, settled_at, changed_at)
		SELECT scope, key, 'payout', 'bank', $3, 'c', '', $4, $5, '', changed_at, changed_at, changed_at, changed_at FROM headrace_inbox WHERE scope = $1 AND key = $2`,
		h.Scope, key, state, map[bool]ledger.Via{true: ledger.ViaCall}[state == ledger.Done], result)
	return inbox.ID{Scope: h.Scope, Key: key}
}

// asks has the Admin do what a request of this kind asks for, as a process does.
func (f *fixture) asks(kind, consumer, reason string, args any) (any, error) {
	f.Helper()
	q, err := instance.Request{Kind: kind, Consumer: consumer, By: "ann as login", Reason: reason}.With(args)
	if err != nil {
		f.Fatal(err)
	}
	return f.admin.Actions()[kind](f.Context(), q)
}

// refuses has the Admin refuse a request, and say why.
func (f *fixture) refuses(kind, consumer, reason, why string, args any) {
	f.Helper()
	if _, err := f.asks(kind, consumer, reason, args); !errors.Is(err, instance.ErrRefused) || !strings.Contains(err.Error(), why) {
		f.Errorf("%s of %s: %v, without %q", kind, consumer, err, why)
	}
}

// did reports whether the audit of a message says that ann did this.
func (f *fixture) did(key, action, detail string) bool {
	f.Helper()
	rows, err := f.Store.Operations().Audit.List(f.Context(), audit.Filter{Kind: audit.Message, Subject: key}, 0, 10)
	if err != nil {
		f.Fatal(err)
	}
	return slices.ContainsFunc(rows, func(r audit.Row) bool {
		return r.Action == action && r.By == "ann as login" && strings.Contains(r.Detail, detail)
	})
}

// A decision on a step is made by the consumer that is asked, in the name of who asks, and what its
// state does not allow is refused.
//
//evidence:open-step
func TestResolveByRequest(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		h := f.handler("orders")
		h.Policy = enginetest.Attempts(1)
		f.fail = &ledger.ParkedError{Step: "payout", System: "bank", Reason: "unknown"}
		f.e.Deliver(h, "m")
		id := f.step(h, "m", ledger.Parked, nil)
		r := resolve.Resolution{ID: id, Step: "payout", Decision: resolve.Done, Result: []byte(`{ "id": "<7>" }`), By: "bob", Reason: "forged"}
		f.refuses(intervene.ResolveKind, "other", "found", "no scope of consumer other", r)
		f.refuses(intervene.ResolveKind, enginetest.Consumer, " ", "no Reason", r)
		nothing := resolve.Resolution{ID: id, Step: "refund", Decision: resolve.Done}
		f.refuses(intervene.ResolveKind, enginetest.Consumer, "found", `no such step: refund of `+h.Scope+` m: its steps are "payout"`, nothing)
		if l := f.Letters()[0]; l.State != dlq.Open || f.did("m", "resolve", "") {
			f.Errorf("a refused decision: %+v", l)
		}
		got, err := f.asks(intervene.ResolveKind, enginetest.Consumer, "found", r)
		letter := f.Letters()[0]
		want := intervene.Resolved{Step: "payout", State: ledger.Done, ResultBytes: len(r.Result), Message: inbox.Dead, LetterID: letter.LetterID, Redriven: true}
		if err != nil || got != want || letter.State != dlq.Redriven || f.State(h, "m") != inbox.Waiting {
			f.Errorf("%+v, %v; letter %s", got, err, letter.State)
		}
		rows, err := f.Store.Operations().Steps.List(f.Context(), id)
		if err != nil || len(rows) != 1 || string(rows[0].Result) != string(r.Result) || rows[0].By != "ann as login" || rows[0].Reason != "found" || !f.did("m", "resolve", "step payout of") {
			f.Errorf("%+v, %v", rows, err)
		}
		f.refuses(intervene.ResolveKind, enginetest.Consumer, "once more", "the step is done", resolve.Resolution{ID: id, Step: "payout", Decision: resolve.Again})
	})
}

// A signal that a person sends has its message run, once.
//
//evidence:signal
func TestSendByRequest(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		h := f.handler("orders")
		f.e.Deliver(h, "m")
		s := ledger.Sent{ID: inbox.ID{Scope: h.Scope, Key: "m"}, Step: "approval", Value: []byte("true"), Awaited: true}
		f.refuses(intervene.SendKind, "other", "", "no scope", s)
		f.refuses(intervene.SendKind, enginetest.Consumer, "", "does not wait for it now", s)
		s.Awaited = false
		for range 2 { // the answer of the first may be lost
			if _, err := f.asks(intervene.SendKind, enginetest.Consumer, "within budget", s); err != nil || !f.did("m", "send", "signal approval of") {
				f.Errorf("%v", err)
			}
		}
		s.Value = []byte("false")
		f.refuses(intervene.SendKind, enginetest.Consumer, "", "another value was sent before", s)
		f.work(h)
		if f.Effects("m") != 1 {
			f.Errorf("applied %d times", f.Effects("m"))
		}
	})
}

// Results are erased of a message that has ended.
//
//evidence:open-step
func TestEraseByRequest(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		f.fail = nil
		h := f.handler("orders")
		f.e.Deliver(h, "m")
		id := f.step(h, "m", ledger.Done, []byte(`"po_1"`))
		f.refuses(intervene.EraseKind, "other", "asked for", "no scope", id)
		f.refuses(intervene.EraseKind, enginetest.Consumer, "", "say who does it, and why", id)
		if got, err := f.asks(intervene.EraseKind, enginetest.Consumer, "asked for", id); err != nil || got != (intervene.Erased{Done: 1}) || !f.did("m", "erase", "1 results") {
			f.Errorf("%+v, %v", got, err)
		}
	})
}
