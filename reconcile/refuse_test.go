package reconcile_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/reconcile"
	"github.com/headrace/headrace/schedule"
	"github.com/headrace/headrace/store/sqlite"
)

// A job that could apply old messages again, or that says too little, is refused at the
// start.
//
//evidence:reconcile
func TestRefused(t *testing.T) {
	t.Parallel()
	nothing := (&bed{}).source
	good := reconcile.Job[order]{Name: "reconcile.orders", Kind: paid, Source: nothing, Lookback: 48 * time.Hour, Missing: reconcile.Enqueue}
	type change = func(j *reconcile.Job[order], r *inbox.Retention)
	for name, c := range map[string]struct {
		change change
		says   string
	}{
		"no name":            {func(j *reconcile.Job[order], _ *inbox.Retention) { j.Name = "" }, "topic"},
		"no kind":            {func(j *reconcile.Job[order], _ *inbox.Retention) { j.Kind.Handler = "" }, "names no handler"},
		"no source":          {func(j *reconcile.Job[order], _ *inbox.Retention) { j.Source = nil }, "no Source"},
		"no word":            {func(j *reconcile.Job[order], _ *inbox.Retention) { j.Missing = "" }, "Report or Enqueue"},
		"no lookback":        {func(j *reconcile.Job[order], _ *inbox.Retention) { j.Lookback = 0 }, "above Grace"},
		"a grace of numbers": {func(j *reconcile.Job[order], _ *inbox.Retention) { j.Grace = 10 }, "give it a unit"},
		"a share of percent": {func(j *reconcile.Job[order], _ *inbox.Retention) { j.MostShare = 5 }, "between 0 and 1"},
		"a negative number":  {func(j *reconcile.Job[order], _ *inbox.Retention) { j.MostMissing = -1 }, "negative"},
		"other bytes":        {func(j *reconcile.Job[order], _ *inbox.Retention) { j.Kind.SameWhen = nil }, "needs a Kind with SameWhen"},
		"no such schedule":   {func(j *reconcile.Job[order], _ *inbox.Retention) { j.Name = "other" }, "no schedule"},
		"retention": {func(_ *reconcile.Job[order], r *inbox.Retention) {
			*r = inbox.Retention{Window: 50 * time.Hour, SourceRetention: time.Hour, DeadLetters: time.Hour}
		}, "messages are kept for 50h0m0s, and a run needs 50h0m0s"},
		"computed retention": {func(_ *reconcile.Job[order], r *inbox.Retention) {
			*r = inbox.Retention{SourceRetention: 40 * time.Hour, DeadLetters: time.Hour}
		}, "and a run needs 50h0m0s"},
		"open letters": {func(_ *reconcile.Job[order], r *inbox.Retention) {
			*r = inbox.Retention{SourceRetention: time.Hour, OpenLetters: 49 * time.Hour}
		}, "messages are kept for 49h0m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), sqlite.Options{Migrate: true})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = st.Close() }()
			quiet := slog.New(slog.DiscardHandler)
			ticks, err := schedule.NewSource(st, schedule.Options{Logger: quiet, Schedules: []schedule.Schedule{{Name: "reconcile.orders", Cron: "0 0 1 1 *", Within: time.Hour}}})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = ticks.Close() }()
			j, config := good, consumer.Config{Logger: quiet}
			c.change(&j, &config.Retention)
			made, err := consumer.New("billing", st, config)
			if err != nil {
				t.Fatal(err)
			}
			reconcile.Handle(made, ticks, j)
			ctx, cancel := context.WithTimeout(t.Context(), bound)
			defer cancel()
			if err := made.Run(ctx); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}
