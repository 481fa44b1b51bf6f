package consumer_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/ledger/resolve"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/sqlite"
)

// charged is a step of a system that drops repetitions of a key.
var charged = ledger.Step[string]{Name: "charge", System: "bank", Recover: ledger.Retry, KeyWindow: 24 * time.Hour}

// bank is another system, behind HTTP: it carries each key out once, and does not answer
// the first call of each.
type bank struct {
	mu    sync.Mutex
	calls map[string]int
	made  int
}

func (k *bank) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := r.Header.Get("Idempotency-Key")
	if k.calls[key]++; k.calls[key] == 1 {
		k.made++
		w.WriteHeader(http.StatusGatewayTimeout) // it has done it
		return
	}
	_, _ = w.Write([]byte("ch_1"))
}

// A handler charges through HTTP; the answer of the first call is lost, and the charge is
// made once. The key is that of the message, whose database has an id.
//
//evidence:ledger
func TestStepsOfAConsumer(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		k := &bank{calls: make(map[string]int)}
		server := httptest.NewServer(k)
		b.Cleanup(server.Close)
		o := observe(b)
		var failed atomic.Bool
		c := b.consumer(o.config())
		consumer.HandleLeased(c, topic, func(ctx context.Context, m *headrace.Message[body]) (headrace.Effects, error) {
			if _, err := charged.Input(m.Body).Do(ctx, func(ctx context.Context, call *ledger.Call) (string, error) {
				r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, http.NoBody)
				if err != nil {
					return "", ledger.NotSent(err)
				}
				r.Header.Set("Idempotency-Key", call.Key)
				answer, err := server.Client().Do(r)
				if answer != nil {
					_ = answer.Body.Close()
				}
				call.SetID("ch_1")
				return "ch_1", ledger.HTTP(answer, err)
			}); err != nil {
				return nil, err
			}
			if failed.CompareAndSwap(false, true) {
				return nil, errBoom // the next run gets what is recorded
			}
			return effectsOf(m), nil
		}, consumer.Steps(charged))
		b.start(c)
		b.acked(b.deliver("a", `{"n":1}`))
		b.eventually("applied", func() bool { return b.state("a") == inbox.Done })
		if n := b.effects("a"); n != 1 || k.made != 1 || len(k.calls) != 1 {
			b.Errorf("%d effects, %d charges, keys %v", n, k.made, k.calls)
		}
		rows, err := b.st.Operations().Steps.List(b.Context(), inbox.ID{Scope: "test/" + topic, Key: "a"})
		if err != nil || len(rows) != 1 || rows[0].Calls != 2 || rows[0].ExternalID != "ch_1" || rows[0].State != ledger.Done {
			b.Errorf("%+v, %v", rows, err)
		}
		for outcome, want := range map[string]int64{"unknown": 1, "done": 1, "refused": 0} {
			for _, name := range []string{"headrace.step.calls", "headrace.step.duration"} {
				if n := o.sum(name, "headrace.system", "bank", "headrace.step", "charge", "headrace.outcome", outcome); n != want {
					b.Errorf("%s: %d calls with the outcome %s, want %d", name, n, outcome, want)
				}
			}
		}
		if n := o.sum("headrace.step.replayed", "headrace.system", "bank", "headrace.step", "charge"); n != 1 {
			b.Errorf("%d steps were replayed, want 1", n)
		}
		for i, s := range o.some("step charge", 2) {
			if failed := s.Status().Code == codes.Error; !s.Parent().IsValid() || failed != (i == 0) || s.SpanKind() != trace.SpanKindClient {
				b.Errorf("span %d: kind %s, status %v, under %v", i, s.SpanKind(), s.Status(), s.Parent())
			}
		}
	})
}

// Two messages of one input share an answer, and the metric says so.
func TestMemoIsCounted(t *testing.T) {
	step := ledger.Step[string]{Name: "classify", System: "model", Recover: ledger.Retry, KeyWindow: ledger.Forever, Memo: time.Hour}
	onEachStore(t, func(b *bundle) {
		o := observe(b)
		c := b.consumer(o.config())
		consumer.HandleLeased(c, topic, func(ctx context.Context, m *headrace.Message[body]) (headrace.Effects, error) {
			if _, err := step.Input("same").Do(ctx, func(context.Context, *ledger.Call) (string, error) { return "answer", nil }); err != nil {
				return nil, err
			}
			return effectsOf(m), nil
		}, consumer.Steps(step))
		b.start(c)
		for _, key := range []string{"a", "b"} {
			b.acked(b.deliver(key, `{"n":1}`))
			b.eventually("applied", func() bool { return b.state(key) == inbox.Done })
		}
		for found, want := range map[string]int64{"miss": 1, "hit": 1, "wait": 0} {
			if n := o.sum("headrace.memo", "headrace.system", "model", "headrace.step", "classify", "headrace.outcome", found); n != want {
				b.Errorf("%s: %d, want %d", found, n, want)
			}
		}
	})
}

// A call that cannot be taken back should be the last: another order is logged.
func TestStepOrderIsLogged(t *testing.T) {
	payout := ledger.Step[string]{Name: "payout", System: "bank", Recover: ledger.Park}
	mail := ledger.Step[struct{}]{Name: "mail", System: "post", Recover: ledger.Skip}
	onEachStore(t, func(b *bundle) {
		for name, steps := range map[string][]ledger.Declared{"": {charged, payout, mail}, "payout": {payout, mail, charged}} {
			config := b.config()
			logs := logged(&config)
			consumer.HandleLeased(b.consumer(config), topic, func(context.Context, *headrace.Message[body]) (headrace.Effects, error) { return nil, nil }, consumer.Steps(steps...))
			if said := strings.Contains(logs.String(), `"step":"payout","before":"charge"`); said != (name != "") {
				b.Errorf("%s", logs)
			}
		}
	})
}

// A step is refused where a transaction is open, and the log of a step that is parked says
// which it is.
func TestStepInATransaction(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		c := b.consumer(b.config())
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			_, err := charged.Do(ctx, func(context.Context, *ledger.Call) (string, error) { b.Error("called"); return "", nil })
			if !errors.Is(err, ledger.ErrNotLeased) || !strings.Contains(err.Error(), "charge") {
				b.Errorf("%v", err)
			}
			return insert(ctx, tx, m)
		})
		b.start(c)
		b.acked(b.deliver("a", `{"n":1}`))
	})
}

// The gauge of steps counts what waits for a person, what was skipped, and what has had no
// known outcome for an hour; of this consumer.
func TestGaugeOfSteps(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		o := observe(b)
		c := o.consumer(o.config())
		consumer.HandleLeased(c, topic, func(ctx context.Context, m *headrace.Message[body]) (headrace.Effects, error) {
			return nil, retry.Permanent(errBoom)
		}, consumer.Steps(charged))
		now, hours := "now()", "- interval '1 hour' * "
		if _, ok := b.st.(*sqlite.Store); ok {
			now, hours = "CAST(unixepoch('subsec') * 1000000 AS INTEGER)", "- 3600000000 * "
		}
		b.exec("INSERT INTO headrace_inbox (scope, key, state, fingerprint, changed_at) VALUES ('test/old', 'm', 'waiting', '', " + now + "), ('tests/old', 'm', 'waiting', '', " + now + ")")
		for _, row := range []string{"'test/old', 'a', 'pending', 2", "'test/old', 'b', 'pending', 0", "'test/old', 'c', 'parked', 0",
			"'test/old', 'd', 'skipped', 0", "'test/old', 'e', 'failed', 2", "'tests/old', 'f', 'parked', 2"} {
			b.exec("INSERT INTO headrace_steps (scope, key, step, system, state, call_id, input_hash, last_call_at, changed_at)" +
				" WITH r (scope, step, state, hours) AS (VALUES (" + row + "))" +
				" SELECT r.scope, i.key, r.step, 'bank', r.state, 'c', '', i.changed_at, i.changed_at " + hours + "r.hours FROM r JOIN headrace_inbox AS i ON i.scope = r.scope")
		}
		b.start(c)
		b.eventually("Ready", func() bool { return c.Ready() == nil })
		for _, state := range []string{"pending", "parked", "skipped"} {
			// A reading that takes too long, as under load, leaves a gauge out.
			b.eventually("one step is "+state, func() bool {
				return o.sum("headrace.steps", "headrace.state", state, "headrace.consumer", "test") == 1
			})
		}
		b.exec("DELETE FROM headrace_steps")
		b.exec("DELETE FROM headrace_inbox")
	})
}

// A handler does two steps at once and returns the error of one, as errgroup does: it hides that
// the other needs a person. The letter is of another class, and is not redriven all the same
// before the person has decided: it would call the other system again, and come back.
//
//evidence:open-step
func TestHiddenParkedStep(t *testing.T) {
	payout := ledger.Step[string]{Name: "payout", System: "bank", Recover: ledger.Park, Timeout: 5 * time.Second}
	onEachStore(t, func(b *bundle) {
		var payouts, charges atomic.Int64
		c := b.consumer(b.config())
		consumer.HandleLeased(c, topic, func(ctx context.Context, m *headrace.Message[body]) (headrace.Effects, error) {
			_, hidden := payout.Do(ctx, func(context.Context, *ledger.Call) (string, error) {
				payouts.Add(1)
				return "", errBoom // no answer
			})
			_, err := charged.Do(ctx, func(context.Context, *ledger.Call) (string, error) {
				if charges.Add(1) == 1 {
					return "", ledger.Refused(retry.Permanent(errBoom))
				}
				return "ch_1", nil
			})
			if err != nil {
				return nil, err
			}
			return effectsOf(m), hidden
		}, consumer.Steps(charged, payout))
		b.start(c)
		b.acked(b.deliver("a", `{"n":1}`))
		b.eventually("it is dead", func() bool { return b.state("a") == inbox.Dead })
		result, err := redrive.New(b.st).Redrive(b.Context(), redrive.Request{All: true, By: "ana"})
		if err != nil || result.Done != 0 || len(result.Skips) != 1 || !strings.Contains(result.Skips[0].Why, `"payout" needs a person`) {
			b.Fatalf("%+v, %v", result, err)
		}
		outcome, err := resolve.New(b.st).Resolve(b.Context(), resolve.Resolution{
			ID: inbox.ID{Scope: "test/" + topic, Key: "a"}, Step: "payout", Decision: resolve.Done, Result: []byte(`"po_1"`), By: "ana", Reason: "it is there",
		})
		if err != nil || !outcome.Redriven {
			b.Fatalf("%+v, %v", outcome, err)
		}
		b.eventually("applied", func() bool { return b.state("a") == inbox.Done })
		if n := b.effects("a"); n != 1 || payouts.Load() != 1 || charges.Load() != 2 {
			b.Errorf("%d effects, %d payouts, %d calls of charge", n, payouts.Load(), charges.Load())
		}
	})
}
