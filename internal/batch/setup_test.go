package batch_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/enginetest"
	"github.com/headrace/headrace/internal/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// onEach runs f on SQLite and on PostgreSQL, each with an engine. runs counts those of its
// handlers.
func onEach(t *testing.T, f func(f *enginetest.Fixture, e *enginetest.Engine, runs *enginetest.Runs)) {
	enginetest.OnEachStore(t, func(fx *enginetest.Fixture) { f(fx, fx.Engine(nil), new(enginetest.Runs)) })
}

// counted is a handler that counts its runs and fails for some messages, after its first
// statement.
func counted(name string, runs *enginetest.Runs, fails func(key string, run int) error) *task.Handler {
	return enginetest.Handler(name, func(ctx context.Context, tx *headrace.Tx, in task.Input) error {
		run := runs.Next(in.Delivery.Key)
		if err := enginetest.Effect(ctx, tx, in); err != nil {
			return err
		}
		return fails(in.Delivery.Key, run)
	})
}

func never(string, int) error { return nil }

// always fails each run of these messages.
func always(keys ...string) func(string, int) error {
	return func(key string, _ int) error {
		for _, one := range keys {
			if one == key {
				return enginetest.ErrBoom
			}
		}
		return nil
	}
}

// leasedHandler commits what its work returned.
func leasedHandler(name string) *task.Handler {
	h := enginetest.Handler(name, func(ctx context.Context, tx *headrace.Tx, in task.Input) error {
		return in.Effects(ctx, tx)
	})
	h.Intake, h.Leased = true, &task.Leased{Slots: 1, Term: time.Minute, Timeout: time.Minute}
	return h
}
