package regress

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/ledger/resolve"
	"github.com/headrace/headrace/retry"
)

// A deploy may turn HandleLeased with steps into Handle while the outcome of a call is unknown.
// The new handler does not know of the call, so it does not get the message: that is put off,
// since an old process may find out, and then waits for a person. When the person has decided,
// the new handler applies it.
//
// Without that it was applied over the open call, whether it came from the backlog, or was
// redriven from a dead letter.
//
//evidence:ledger
func TestDeployOverAnOpenStep(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]retry.Policy{
		"waits": {MaxAttempts: 5, Backoff: retry.Backoff{Initial: time.Minute, Max: time.Minute, Factor: 1}},
		"dead":  attempts(1),
	} {
		t.Run(name, func(t *testing.T) {
			onEachWay(t, onEachStore, []way{inBatch, alone, fromBacklog}, func(f *fixture, w way) {
				f.leaveOpenStep(policy)
				config := f.configOf(w)
				config.Retry = attempts(3)
				after := f.consumer(f.open(), config)
				var seen runs
				w.handle(after, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
					seen.next(m.ID)
					return insert(ctx, tx, m)
				})
				f.start(after)
				if name == "dead" {
					result, err := redrive.New(f.st).Redrive(f.Context(), redrive.Request{All: true, By: "ana"})
					if err != nil || result.Done != 1 {
						f.Fatalf("%+v, %v", result, err)
					}
				}
				f.later(2 * time.Minute)
				f.eventually("it is put off", func() bool {
					return f.count("SELECT count(*) FROM headrace_backlog WHERE postponed_at IS NOT NULL") == 1 || seen.of("m") > 0
				})
				f.later(20 * time.Minute)
				f.eventually("it waits for a person", func() bool {
					return f.count("SELECT count(*) FROM headrace_dead_letters WHERE class = 'parked' AND state = 'open'") == 1 || seen.of("m") > 0
				})
				if seen.of("m") > 0 || f.state("m") != inbox.Dead {
					f.Fatalf("the new handler ran it %d times: %s", seen.of("m"), f.state("m"))
				}
				outcome, err := resolve.New(f.st).Resolve(f.Context(), resolve.Resolution{
					ID: inbox.ID{Scope: scope, Key: "m"}, Step: "charge", Decision: resolve.Done, Result: []byte(`"ch_1"`), By: "ana", Reason: "it is there",
				})
				if err != nil || !outcome.Redriven {
					f.Fatalf("%+v, %v", outcome, err)
				}
				f.eventually("it is applied", func() bool { return f.effects("m") == 1 && f.state("m") == inbox.Done })
				if n, err := f.st.Letters().Count(f.Context(), dlq.Filter{State: dlq.Open}); n != 0 || err != nil {
					f.Errorf("%d open letters, %v", n, err)
				}
			})
		})
	}
}

// leaveOpenStep runs a release that calls another system for message m, and gets no answer.
func (f *fixture) leaveOpenStep(policy retry.Policy) {
	f.Helper()
	charge := ledger.Step[string]{Name: "charge", System: "bank", Recover: ledger.Retry, KeyWindow: 24 * time.Hour}
	config := f.config()
	config.Retry, config.BatchTime = policy, 0
	c := f.consumer(f.open(), config)
	consumer.HandleLeased(c, topic, func(ctx context.Context, _ *headrace.Message[body]) (headrace.Effects, error) {
		_, err := charge.Do(ctx, func(context.Context, *ledger.Call) (string, error) { return "", io.ErrUnexpectedEOF })
		return nil, err
	}, consumer.Steps(charge))
	p := f.start(c)
	f.acked(f.deliver("m", 1))
	f.eventually("the call has failed", func() bool { return len(f.attempts("m")) == 1 })
	if err := p.halt(); err != nil {
		f.Fatal(err)
	}
}
