package workload

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/codec"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/fault"
	"github.com/headrace/headrace/internal/prune"
	"github.com/headrace/headrace/outbox/relay"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/tests/torture/broker"
)

// Names of the consumers.
const (
	MainConsumer   = "torture"
	StrictConsumer = "torture-strict"
)

const (
	leaseTime = 2 * time.Second
	workTime  = 4 * time.Second
	// HandlerTimeout is that of the consumers: shorter ones were reached by healthy
	// handlers where twenty processes waited for the two processors.
	HandlerTimeout = 3 * time.Second
	// DrainTimeout is that of the consumers, and MaxInFlight too.
	DrainTimeout = 5 * time.Second
	MaxInFlight  = 64
	// Window is what the broker gives before an answer.
	Window = 80
	// FirstDelay is the backoff's, and Jitter its jitter.
	FirstDelay = 50 * time.Millisecond
	Jitter     = 0.2
)

// work runs the consumers until ctx ends.
func work(ctx context.Context, st store.Store, o Order, at fault.Hook) error {
	sub := fault.Subscriber(&broker.Subscriber{Addr: o.Broker, Window: Window}, at)
	pub := &broker.Publisher{Addr: o.Broker}
	defer func() { _ = pub.Close() }()
	config := consumer.Config{
		Source: sub, Sink: fault.Publisher(pub, at), Key: inbox.MessageID(), Codec: codec.Raw(),
		Concurrency: 2, MaxBatch: 16, MaxInFlight: MaxInFlight, HandlerTimeout: HandlerTimeout,
		DrainTimeout: DrainTimeout, NackPause: 10 * time.Millisecond, Relay: relay.Options{},
		Retry: retry.Policy{
			MaxAttempts: MaxAttempts, Immediate: 1,
			Backoff: retry.Backoff{Initial: FirstDelay, Max: 200 * time.Millisecond, Factor: 2, Jitter: Jitter},
		},
		Retention: inbox.Retention{Off: true},
	}
	main, err := consumer.New(MainConsumer, st, config)
	if err != nil {
		return err
	}
	config.Strict = true
	config.OrderKey = func(d *headrace.Delivery) string { return d.Metadata[broker.KeyHeader] }
	strict, err := consumer.New(StrictConsumer, st, config)
	if err != nil {
		return err
	}
	handlers{at}.register(main, strict)
	var wait sync.WaitGroup
	errs := make([]error, 2)
	own, stop := context.WithCancel(ctx)
	defer stop()
	for i, c := range []*consumer.Consumer{main, strict} {
		wait.Go(func() {
			defer stop() // one that gives up takes the process with it
			errs[i] = c.Run(own)
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

// redriveCured cures whatever has an open letter and redrives it, but what is poison for
// good.
func redriveCured(ctx context.Context, st store.Store) error {
	letters, err := st.Letters().List(ctx, dlq.Filter{}, 0, 1000)
	if err != nil || len(letters) == 0 {
		return err
	}
	var ids []int64
	for _, l := range letters {
		whole, err := st.Letters().Get(ctx, l.LetterID)
		if err != nil {
			return err
		}
		kind := Kind(whole.Delivery.Metadata[kindHeader])
		if kind == Curable || kind == Good || kind == Flaky {
			ids = append(ids, l.LetterID)
			if err := cure(ctx, st, whole.Delivery.ID); err != nil {
				return err
			}
		}
	}
	if len(ids) == 0 {
		return nil
	}
	_, err = redrive.New(st).Redrive(ctx, redrive.Request{Filter: dlq.Filter{IDs: ids}, By: "torture", Reason: "cured"})
	return err
}

func cure(ctx context.Context, st store.Store, id string) error {
	t, err := st.Begin(ctx)
	if err != nil {
		return err
	}
	defer t.Rollback()
	if _, err := t.ExecContext(ctx, queries["insert_cure"], id); err != nil {
		return err
	}
	return st.Commit(ctx, t, nil)
}

// Window of the prune: what was aged is older, and nothing else.
const pruneWindow = 24 * time.Hour

// prunes walks once through everything, a few rows at a time.
func prunes(ctx context.Context, st store.Store) error {
	plan := inbox.Plan{Window: pruneWindow, DeadLetters: pruneWindow}
	_, err := prune.Round(ctx, st.Operations().Pruner, plan, "", "", prune.Options{Limit: 20})
	return err
}

// hog holds the write lock of a SQLite file, from another process, most of the time and
// once for longer than any process waits.
func hog(ctx context.Context, o Order) error {
	db, err := sql.Open("sqlite", o.DSN+"?_txlock=immediate&_pragma=busy_timeout(20000)")
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	say(Ready)
	for _, hold := range []time.Duration{300 * time.Millisecond, time.Second, 7 * time.Second, 500 * time.Millisecond, 500 * time.Millisecond} {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return fmt.Errorf("hold the lock: %w", err)
		}
		say(Dies, "held") // the parent counts it
		select {
		case <-time.After(hold):
		case <-ctx.Done():
		}
		_ = tx.Rollback()
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}
