package reconcile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/intent"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/schedule"
	"github.com/headrace/headrace/store"
)

// first is what the first run of a tick has found that came to its end: after a kill in the
// middle of its starts a later one no longer misses what it has started. limit is the step
// that asks a person.
var first = ledger.Step[Result]{Name: "found", System: "reconcile", Recover: ledger.Retry, KeyWindow: ledger.Forever}

var limit = ledger.Step[struct{}]{Name: "limit", System: "reconcile", Recover: ledger.Park, Timeout: time.Second}

// Handle registers the job for the ticks of its schedule, as a leased handler of c that is
// named like it. The options are those of consumer.HandleLeased, except Steps, From, Key and
// SameWhen; with consumer.Timeout a run has more than 10 minutes. Run returns what is wrong with the job.
func Handle[T any](c *consumer.Consumer, ticks *schedule.Source, j Job[T], options ...consumer.Option) {
	j, err := j.check()
	if err == nil && ticks == nil {
		err = errors.New("there is no source of ticks")
	}
	rt := c.Runtime()
	r := &runner[T]{Job: j, consumer: c.Name(), st: rt.Store, logger: rt.Logger.With("handler", j.Name),
		labels: metric.WithAttributes(attribute.String("headrace.consumer", c.Name()), attribute.String("headrace.handler", j.Name))}
	var metricErr error
	if r.gauge, metricErr = rt.MeterProvider.Meter("github.com/headrace/headrace").Int64Gauge("headrace.reconcile.missing",
		metric.WithUnit("{item}"), metric.WithDescription("Items of a source of truth without a message, in the last run.")); err == nil {
		err = metricErr
	}
	if ticks != nil {
		ticks.Watch(j.Name, r.seen)
	}
	src := &source{ticks, func() error {
		if err == nil {
			err = r.retained(rt.Retention, ticks.TopicRetention(j.Name))
		}
		if err != nil {
			return fmt.Errorf("reconcile: %w", err)
		}
		return nil
	}}
	own := append(schedule.Identity(), consumer.Steps(first, limit), consumer.From(src))
	consumer.HandleLeased(c, j.Name, r.run, append(own, options...)...)
}

// source checks the job, and the retention of the consumer, at the start.
type source struct {
	*schedule.Source
	check func() error
}

// Check implements consumer.Checker.
func (s *source) Check(ctx context.Context, topic string, d consumer.Demands) error {
	if err := s.check(); err != nil {
		return err
	}
	return s.Source.Check(ctx, topic, d)
}

// runner runs a job.
type runner[T any] struct {
	Job[T]
	consumer string
	st       store.Store
	logger   *slog.Logger
	gauge    metric.Int64Gauge
	labels   metric.MeasurementOption
}

// retained returns an error if the window of a tick that comes delay late may reach back
// behind the retention of the consumer, where that is known at the start.
func (r *runner[T]) retained(retention inbox.Retention, delay time.Duration) error {
	if retention.Off || r.Kind.Consumer != r.consumer {
		return nil
	}
	kept := retention.Window
	if kept == 0 && retention.SourceRetention > 0 {
		plan, err := retention.Plan(0)
		if err != nil {
			return err
		}
		kept = plan.Window
	}
	if retention.OpenLetters > 0 && (kept == 0 || retention.OpenLetters < kept) {
		kept = retention.OpenLetters
	}
	if least := r.Lookback + delay + r.Grace; kept > 0 && kept <= least {
		return fmt.Errorf("messages are kept for %s, and a run needs %s (Lookback %s, %s that a tick may be late, Grace %s): "+
			"what was pruned would look missing; shorten Lookback or the schedule's Within, or raise Config.Retention.Window", kept, least, r.Lookback, delay, r.Grace)
	}
	return nil
}

// run compares for a tick, and returns the effects of its end.
func (r *runner[T]) run(ctx context.Context, m *headrace.Message[schedule.Tick]) (headrace.Effects, error) {
	row, _, err := r.st.Operations().Schedules.Get(ctx, r.Name)
	if err != nil {
		return nil, err
	}
	kept, err := r.kept(ctx)
	if err != nil {
		return nil, err
	}
	f := &found[T]{}
	w, gap := windowOf(m.Body.At, row.Checked, kept, r.Lookback, r.Grace)
	f.gap = gap
	if err := compare(ctx, r.st.Operations().Finder, r.Kind, r.Source, w, f); err != nil {
		return nil, err
	}
	if kept, err = r.kept(ctx); err != nil {
		return nil, err
	}
	f.within(kept)
	result := f.result()
	if r.Missing == Enqueue {
		if err := r.allowed(ctx, f); err != nil {
			return nil, err
		}
		before, err := first.Do(ctx, func(context.Context, *ledger.Call) (Result, error) { return result, nil })
		if err != nil {
			return nil, err
		}
		result.add(before)
		if err := r.start(ctx, f, &result); err != nil {
			return nil, err
		}
	}
	r.log(result)
	return intent.Effects(result, func(ctx context.Context, tx *headrace.Tx) error {
		to := m.Body.At.Add(-r.Grace)
		if result.Left > 0 { // the next run looks at the same time again
			to = result.From
		}
		c := store.Comparison{To: to, Missing: int64(result.Missing)}
		if g := result.Gap; g != nil {
			c.GapFrom, c.GapTo = g.From, g.To
		}
		return r.st.Operations().Schedules.Compared(ctx, tx, r.Name, c)
	}), nil
}

// kept is from when on no message of the Kind was pruned.
func (r *runner[T]) kept(ctx context.Context) (time.Time, error) {
	cut, err := r.st.Operations().Pruner.NewestCut(ctx, r.Kind.Consumer)
	return keptSince(cut, r.Grace), err
}

// allowed asks a person if more is missing than may be started.
func (r *runner[T]) allowed(ctx context.Context, f *found[T]) error {
	name := beyond(f.total(), f.checked, r.MostMissing, r.MostShare)
	if name == "" {
		return nil
	}
	_, err := limit.Do(ctx, func(context.Context, *ledger.Call) (struct{}, error) {
		reason := fmt.Sprintf("%d of %d items are missing, more than %s: nothing was started; look whether the key of the Kind is right", f.total(), f.checked, name)
		r.logger.Error("a person must decide: "+reason, "keys", f.result().Keys[:min(len(f.missing), 10)])
		return struct{}{}, ledger.AskPerson(reason)
	})
	return err
}

// start starts what is missing.
func (r *runner[T]) start(ctx context.Context, f *found[T], result *Result) error {
	if len(f.missing) == 0 {
		return nil
	}
	client, err := intent.NewClient(r.st, intent.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	for i := range f.missing {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		got, err := r.Kind.Start(ctx, client, f.missing[i].item.request())
		switch {
		case errors.Is(err, intent.ErrConflict):
			result.Conflicts++
			r.logger.Warn("the message of a missing item came with other content; it counts", "key", f.missing[i].key)
		case err != nil:
			return fmt.Errorf("start a missing item: %w", err)
		case got.New:
			result.Enqueued++
		default:
			result.Late++
		}
	}
	result.Left = f.more
	return nil
}

// seen shows in the gauge what was missing in the last run, of whatever process.
func (r *runner[T]) seen(row store.Schedule) {
	if row.Missing >= 0 {
		r.gauge.Record(context.Background(), row.Missing, r.labels)
	}
}

// log says what a run has found. What is wrong is in the row of the schedule, which others judge.
func (r *runner[T]) log(result Result) {
	r.logger.Info("compared with the source of truth", "from", result.From, "to", result.To, "checked", result.Checked, "missing", result.Missing, "enqueued", result.Enqueued)
}
