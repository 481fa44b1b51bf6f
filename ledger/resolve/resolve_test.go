package resolve_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/audit"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/enginetest"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/ledger/resolve"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bed is a message whose step is parked, with its letter.
type bed struct {
	*enginetest.Fixture
	h     *task.Handler
	id    inbox.ID
	admin *resolve.Admin
}

// onEachStore runs f on each database with a message whose steps are in state.
func onEachStore(t *testing.T, state ledger.State, names []string, f func(*bed)) {
	enginetest.OnEachStore(t, func(x *enginetest.Fixture) {
		h := enginetest.Handler("orders", func(context.Context, *headrace.Tx, task.Input) error {
			return &ledger.ParkedError{Step: "payout", System: "bank", Reason: "unknown"}
		})
		b := &bed{x, h, inbox.ID{Scope: h.Scope, Key: "m"}, resolve.New(x.Store.Store)}
		x.Engine(nil).Deliver(h, "m")
		if l := x.Letters(); len(l) != 1 || l[0].Class != dlq.Parked {
			x.Fatalf("letters %+v", l)
		}
		for _, name := range names {
			r := ledger.Row{Step: name, State: state, Error: "unknown"}
			if state == ledger.Done {
				r.Via, r.Error, r.Result = ledger.ViaCall, "", []byte(`"po_1"`)
			}
			x.Exec(`INSERT INTO headrace_steps (scope, key, step, system, state, call_id, input_hash, via, result, error, first_call_at, last_call_at, settled_at, changed_at)
				SELECT scope, key, $3, 'bank', $4, 'c', '', $5, $6, $7, changed_at, changed_at, changed_at + `+x.Span(10*time.Minute)+`, changed_at FROM headrace_inbox WHERE scope = $1 AND key = $2`,
				b.id.Scope, b.id.Key, r.Step, r.State, r.Via, r.Result, r.Error)
		}
		f(b)
	})
}

// quiet has the latest calls be some time ago: nothing can come of them any more.
func (b *bed) quiet() { b.ago(11 * time.Minute) }

// ago has the latest calls begin d earlier.
func (b *bed) ago(d time.Duration) {
	b.Exec("UPDATE headrace_steps SET last_call_at = last_call_at - " + b.Span(d) + ", settled_at = settled_at - " + b.Span(d))
}

func (b *bed) of(v resolve.Decision) resolve.Resolution {
	return resolve.Resolution{ID: b.id, Step: "payout", Decision: v, By: "ana", Reason: "looked it up"}
}

func (b *bed) letter() dlq.State { return b.Letters()[0].State }

// The decision, the letter and the message are one commit, and the trail says who and why.
//
//evidence:open-step
func TestResolve(t *testing.T) {
	for decision, want := range map[resolve.Decision]struct {
		state      ledger.State
		generation int
	}{resolve.Done: {ledger.Done, 0}, resolve.Again: {ledger.Failed, 0}, resolve.Anew: {ledger.Failed, 1}} {
		t.Run(string(decision), func(t *testing.T) {
			onEachStore(t, ledger.Parked, []string{"payout"}, func(b *bed) {
				b.quiet()
				r := b.of(decision)
				if decision == resolve.Done {
					r.ExternalID, r.Result = "po_7", []byte(`"po_7"`)
				}
				o, err := b.admin.Resolve(b.Context(), r)
				if err != nil || !o.Redriven || o.LetterID != b.Letters()[0].LetterID || o.Waits != "" {
					b.Fatalf("%+v, %v", o, err)
				}
				rows, err := b.Store.Operations().Steps.List(b.Context(), b.id)
				if got := rows[0]; err != nil || got.State != want.state || got.Generation != want.generation || got.ExternalID != r.ExternalID ||
					string(got.Result) != string(r.Result) || got.By != "ana" || (got.Via == ledger.ViaPerson) != (decision == resolve.Done) {
					b.Errorf("%+v, %v", rows, err)
				}
				trail, err := b.Store.Letters().Trail(b.Context(), o.LetterID)
				if err != nil || len(trail) != 2 || trail[0].Action != "resolve" || trail[0].By != "ana" || trail[1].Action != "redrive" {
					b.Errorf("%+v, %v", trail, err)
				}
				if s := b.State(b.h, "m"); s != inbox.Waiting || b.letter() != dlq.Redriven {
					b.Errorf("message %s, letter %s", s, b.letter())
				}
			})
		})
	}
}

// A letter is not redriven before its step is resolved; with two steps the last resolution
// does it, and KeepOpen leaves it.
//
//evidence:open-step
func TestRedriveWaitsForThePerson(t *testing.T) {
	onEachStore(t, ledger.Parked, []string{"other", "payout"}, func(b *bed) {
		b.quiet()
		request := redrive.Request{All: true, By: "ana"}
		done, err := redrive.New(b.Store.Store).Redrive(b.Context(), request)
		if err != nil || done.Done != 0 || done.Skipped != 1 {
			b.Errorf("%+v, %v", done, err)
		}
		o, err := b.admin.Resolve(b.Context(), b.of(resolve.Again))
		if err != nil || o.Redriven || o.Waits != "other" || b.letter() != dlq.Open {
			b.Errorf("%+v, %v", o, err)
		}
		r := b.of(resolve.Done)
		r.Step, r.KeepOpen = "other", true
		if o, err = b.admin.Resolve(b.Context(), r); err != nil || o.Redriven || b.letter() != dlq.Open {
			b.Errorf("%+v, %v", o, err)
		}
		if done, err = redrive.New(b.Store.Store).Redrive(b.Context(), request); err != nil || done.Done != 1 {
			b.Errorf("%+v, %v", done, err)
		}
	})
}

// What the state of the step does not allow is refused, and nothing is changed.
func TestRefused(t *testing.T) {
	onEachStore(t, ledger.Parked, []string{"payout"}, func(b *bed) {
		b.ago(9 * time.Minute) // of the ten that were declared
		if _, err := b.admin.Resolve(b.Context(), b.of(resolve.Again)); !errors.Is(err, resolve.ErrRefused) {
			b.Errorf("too early: %v", err)
		}
		r := b.of(resolve.Again)
		r.Step = "none"
		if _, err := b.admin.Resolve(b.Context(), r); !errors.Is(err, resolve.ErrNotFound) {
			b.Errorf("%v", err)
		}
		r.Step, r.Force = "payout", true
		if o, err := b.admin.Resolve(b.Context(), r); err != nil || !o.Redriven {
			b.Errorf("forced: %+v, %v", o, err)
		}
	})
	t.Run("done", func(t *testing.T) {
		onEachStore(t, ledger.Done, []string{"payout"}, func(b *bed) {
			b.quiet()
			for _, v := range []resolve.Decision{resolve.Done, resolve.Again, resolve.Anew} {
				if _, err := b.admin.Resolve(b.Context(), b.of(v)); !errors.Is(err, resolve.ErrRefused) || b.letter() != dlq.Open {
					b.Errorf("%s: %v", v, err)
				}
			}
			r := b.of(resolve.Anew)
			r.Force = true
			if o, err := b.admin.Resolve(b.Context(), r); err != nil || o.Step.State != ledger.Failed || o.Step.Generation != 1 {
				b.Errorf("%+v, %v", o, err)
			}
		})
	})
}

// The steps of a message that is discarded need no person, and say who has decided that.
func TestDiscardNeedsNoPerson(t *testing.T) {
	for _, step := range []ledger.State{ledger.Parked, ledger.Pending} {
		t.Run(string(step), func(t *testing.T) {
			onEachStore(t, step, []string{"payout"}, func(b *bed) {
				b.Exec("INSERT INTO headrace_steps (scope, key, step, system, state, call_id, input_hash, via, last_call_at, changed_at) SELECT scope, key, 'done', 'bank', 'done', 'c', '', 'call', last_call_at, changed_at FROM headrace_steps")
				done, err := redrive.New(b.Store.Store).Discard(b.Context(), redrive.Request{All: true, By: "ana", Reason: "not wanted", OpenCalls: true})
				if err != nil || done.Done != 1 {
					b.Fatalf("%+v, %v", done, err)
				}
				counts, err := b.Store.Operations().StepAdmin.Count(b.Context(), "", 0)
				if err != nil || len(counts) != 1 || counts[ledger.Skipped] != 1 {
					b.Errorf("%v, %v", counts, err)
				}
				rows, err := b.Store.Operations().Steps.List(b.Context(), b.id)
				if err != nil || len(rows) != 2 {
					b.Fatalf("%+v, %v", rows, err)
				}
				for _, r := range rows {
					if r.Step == "payout" && (r.State != ledger.Skipped || r.By != "ana" || r.Reason != "not wanted" || r.Error != "unknown") || r.Step == "done" && r.By != "" {
						b.Errorf("%+v", r)
					}
				}
			})
		})
	}
}

// A step that was carried out twice is said to be cleaned up, once, and nothing else changes.
//
//evidence:open-step
func TestUndone(t *testing.T) {
	onEachStore(t, ledger.Done, []string{"payout"}, func(b *bed) {
		b.Exec("UPDATE headrace_steps SET external_id = 'po_1', other_id = 'po_2', input_hash = 'h'")
		count := func(want int64) {
			b.Helper()
			counts, err := b.Store.Operations().StepAdmin.Count(b.Context(), "", 0)
			if err != nil || counts[ledger.Doubled] != want {
				b.Errorf("%v, %v", counts, err)
			}
		}
		count(1)
		o, err := b.admin.Resolve(b.Context(), b.of(resolve.Done))
		if s := o.Step; err != nil || o.Redriven || s.By != "ana" || s.State != ledger.Done || s.Via != ledger.ViaCall || s.InputHash != "h" || s.ExternalID != "po_1" || s.OtherID != "po_2" {
			b.Errorf("%+v, %v", o, err)
		}
		rows, err := b.Store.Operations().Steps.List(b.Context(), b.id)
		if err != nil || len(rows) != 1 || rows[0].By != "ana" || string(rows[0].Result) != `"po_1"` || rows[0].InputHash != "h" || b.letter() != dlq.Open {
			b.Errorf("%+v, %v", rows, err)
		}
		count(0)
		if _, err := b.admin.Resolve(b.Context(), b.of(resolve.Done)); !errors.Is(err, resolve.ErrRefused) {
			b.Errorf("again: %v", err)
		}
	})
}

// Invalid requests change nothing.
func TestInvalid(t *testing.T) {
	onEachStore(t, ledger.Parked, []string{"payout"}, func(b *bed) {
		for name, change := range map[string]func(*resolve.Resolution){
			"no step":         func(r *resolve.Resolution) { r.Step = "" },
			"no decision":     func(r *resolve.Resolution) { r.Decision = "" },
			"id, not done":    func(r *resolve.Resolution) { r.Decision, r.ExternalID = resolve.Again, "x" },
			"result, no JSON": func(r *resolve.Resolution) { r.Result = []byte("{") },
			"long result":     func(r *resolve.Resolution) { r.Result = make([]byte, ledger.MaxResult+1); copyJSON(r.Result) },
			"nobody":          func(r *resolve.Resolution) { r.By = " " },
			"no reason":       func(r *resolve.Resolution) { r.Reason = "" },
		} {
			r := b.of(resolve.Done)
			change(&r)
			if _, err := b.admin.Resolve(b.Context(), r); !errors.Is(err, resolve.ErrInvalid) {
				b.Errorf("%s: %v", name, err)
			}
		}
	})
}

// copyJSON makes b a JSON string.
func copyJSON(b []byte) {
	for i := range b {
		b[i] = 'x'
	}
	b[0], b[len(b)-1] = '"', '"'
}

// Of several people who decide at once, one redrives the message.
func TestAtOnce(t *testing.T) {
	onEachStore(t, ledger.Parked, []string{"payout"}, func(b *bed) {
		b.quiet()
		var all sync.WaitGroup
		redriven := make(chan bool, 8)
		for range 8 {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
				defer cancel()
				o, err := b.admin.Resolve(ctx, b.of(resolve.Done))
				if err != nil && !errors.Is(err, resolve.ErrRefused) {
					b.Error(err)
				}
				redriven <- o.Redriven
			})
		}
		all.Wait()
		n := 0
		for range 8 {
			if <-redriven {
				n++
			}
		}
		if n != 1 {
			b.Errorf("%d redrives", n)
		}
	})
}

// A step whose result alone is missing was carried out: a discard of its message says so.
func TestDiscardWithoutResult(t *testing.T) {
	onEachStore(t, ledger.Parked, []string{"payout"}, func(b *bed) {
		b.Exec("UPDATE headrace_steps SET via = 'call'")
		if _, err := redrive.New(b.Store.Store).Discard(b.Context(), redrive.Request{All: true, By: "ana", Reason: "no need"}); err != nil {
			b.Fatal(err)
		}
		if rows, err := b.Store.Operations().Steps.List(b.Context(), b.id); err != nil || len(rows) != 1 || rows[0].State != ledger.Done || rows[0].By != "ana" {
			b.Errorf("%+v, %v", rows, err)
		}
	})
}

// What was decided is in the audit although the message has no letter, and after another decision.
// An id goes with its result.
func TestDecisionsAreAudited(t *testing.T) {
	onEachStore(t, ledger.Done, []string{"payout"}, func(b *bed) {
		for _, id := range []string{"one", "two"} {
			_, err := b.admin.Resolve(b.Context(), resolve.Resolution{ID: b.id, Step: "payout", Decision: resolve.Done, ExternalID: id, Result: []byte(`"made"`), Force: true, By: "ana", Reason: "seen at the bank"})
			if err != nil {
				b.Fatal(err)
			}
		}
		r := resolve.Resolution{ID: b.id, Step: "payout", Decision: resolve.Done, ExternalID: "three", Force: true, By: "ana", Reason: "a guess"}
		if _, err := b.admin.Resolve(b.Context(), r); !errors.Is(err, resolve.ErrRefused) || !strings.Contains(err.Error(), `result is that of external id "two"`) {
			b.Errorf("another id beside the result: %v", err)
		}
		of := "resolve: step payout of " + b.id.Scope
		b.audited(of+`: done, external id "two"; it was done, external id "one"`, of+`: done, external id "one"; it was done, external id ""`)
	})
}

// audited fails unless these are the actions and details on the message, newest first, by ana.
func (b *bed) audited(want ...string) {
	b.Helper()
	rows, err := b.Store.Operations().Audit.List(b.Context(), audit.Filter{Kind: audit.Message, Subject: b.id.Key}, 0, 10)
	if err != nil {
		b.Fatal(err)
	}
	var got []string
	for _, r := range rows {
		if r.By == "ana" {
			got = append(got, r.Action+": "+r.Detail)
		}
	}
	if !slices.Equal(got, want) {
		b.Errorf("the audit has %q, want %q", got, want)
	}
}

// Results of a message that ended are erased, and of no other.
func TestErase(t *testing.T) {
	onEachStore(t, ledger.Done, []string{"payout"}, func(b *bed) {
		if n, err := b.admin.Erase(b.Context(), b.id, "ana", "asked for"); n != 0 || err != nil {
			b.Errorf("%d, %v", n, err)
		}
		if _, err := redrive.New(b.Store.Store).Discard(b.Context(), redrive.Request{All: true, By: "ana", Reason: "no need"}); err != nil {
			b.Fatal(err)
		}
		if n, err := b.admin.Erase(b.Context(), b.id, "ana", " "); n != 0 || !errors.Is(err, resolve.ErrInvalid) {
			b.Errorf("without a reason: %d, %v", n, err)
		}
		if n, err := b.admin.Erase(b.Context(), b.id, "ana", "asked for"); n != 1 || err != nil {
			b.Errorf("%d, %v", n, err)
		}
		b.audited("erase: 1 results of steps of " + b.id.Scope)
	})
}

// The result of a step that is done without one may be given without force, and where it is
// known to be missing, nothing else is taken for an answer.
func TestMissingResult(t *testing.T) {
	onEachStore(t, ledger.Done, []string{"payout"}, func(b *bed) {
		b.Exec("UPDATE headrace_steps SET result = NULL")
		r := b.of(resolve.Done)
		r.Result = []byte(`"po_7"`)
		if o, err := b.admin.Resolve(b.Context(), r); err != nil || !o.Redriven || o.Step.Size != 6 {
			b.Errorf("%+v, %v", o, err)
		}
		for _, known := range []string{"system = '', state = 'expired', via = ''", "system = 'bank', state = 'parked', via = 'person', error = 'it is missing'"} {
			b.Exec("UPDATE headrace_steps SET result = NULL, " + known)
			r := b.of(resolve.Done)
			r.Force = true
			if _, err := b.admin.Resolve(b.Context(), r); !errors.Is(err, resolve.ErrRefused) || !strings.Contains(err.Error(), "--result FILE") {
				b.Errorf("%s: %v", known, err)
			}
		}
	})
}
