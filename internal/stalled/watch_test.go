package stalled_test

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/internal/enginetest"
	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/internal/stalled"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// forward has the database's clock run three minutes ahead.
func forward(f *enginetest.Fixture) {
	if f.SQLite {
		f.Exec("UPDATE headrace_clock SET shift_us = 180000000")
		return
	}
	if err := pgtest.ShiftClock(f.Context(), f.DB, 3*time.Minute); err != nil {
		f.Fatal(err)
	}
}

// looked is told of each look at the subscriptions.
type looked struct {
	outbox.Subscriptions
	looks chan struct{}
}

func (l looked) List(ctx context.Context, consumer string) ([]outbox.Subscription, error) {
	list, err := l.Subscriptions.List(ctx, consumer)
	select {
	case l.looks <- struct{}{}:
	case <-ctx.Done():
	}
	return list, err
}

// Of two consumers of a process one watches. When it ends the other one goes on, and tells
// only what is new.
func TestOneOfAProcessWatches(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		subscriptions := f.Store.Operations().Subscriptions
		if err := subscriptions.Subscribe(f.Context(), map[string][]string{"gone": {"t"}}); err != nil {
			f.Fatal(err)
		}
		f.In(func(t *txn.Txn) error {
			row := outbox.RowOf(headrace.Event{ID: "1", Topic: "t", Payload: []byte("x"), Local: true})
			return f.Store.Outbox().Insert(f.Context(), t, []outbox.Row{row})
		})
		forward(f)
		told := make(chan alerts.Kind, 100)
		start := func() (l looked, stop func()) {
			l = looked{subscriptions, make(chan struct{})}
			w := &stalled.Watch{
				Subscriptions: l, Outbox: f.Store.Outbox(), Send: func(a alerts.Alert) { told <- a.Kind }, Every: time.Millisecond,
				Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
			}
			ctx, cancel := context.WithCancel(f.Context())
			var running sync.WaitGroup
			running.Go(func() { w.Run(ctx) })
			return l, func() { cancel(); running.Wait() }
		}
		first, stop := start()
		defer stop()
		<-first.looks
		second, stopSecond := start()
		defer stopSecond()
		for range 20 {
			select {
			case <-first.looks:
			case <-second.looks:
				f.Fatal("both look")
			}
		}
		stop()
		<-second.looks
		<-second.looks
		if _, err := subscriptions.Remove(f.Context(), "gone", nil, true); err != nil {
			f.Fatal(err)
		}
		<-second.looks
		<-second.looks
		<-second.looks
		if a, b := <-told, <-told; a != alerts.SubscriptionStalled || b != alerts.SubscriptionResumed || len(told) > 0 {
			f.Errorf("%s, %s and %d more", a, b, len(told))
		}
	})
}

// Another process tells of events that no process takes, once, and when they are taken;
// it is silent about a consumer that has a handler, or nothing to do.
func TestStalledConsumer(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		subscriptions := f.Store.Operations().Subscriptions
		subscribe := func(consumer string, topics ...string) {
			f.Helper()
			if err := subscriptions.Subscribe(f.Context(), map[string][]string{consumer: topics}); err != nil {
				f.Fatal(err)
			}
		}
		subscribe("gone", "t", "u")
		subscribe("idle", "u")
		subscribe("runs", "t")
		publish := func(topic string) {
			f.Helper()
			f.In(func(t *txn.Txn) error {
				row := outbox.RowOf(headrace.Event{ID: "of " + topic, Topic: topic, Payload: []byte("x"), Local: true})
				return f.Store.Outbox().Insert(f.Context(), t, []outbox.Row{row})
			})
		}
		publish("t")
		forward(f)
		subscribe("runs", "t")
		publish("u") // just now
		told := make(chan alerts.Alert, 100)
		w := &stalled.Watch{
			Subscriptions: subscriptions, Outbox: f.Store.Outbox(), Send: func(a alerts.Alert) { told <- a }, Every: 10 * time.Millisecond,
			Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		}
		ctx, stop := context.WithCancel(f.Context())
		var running sync.WaitGroup
		running.Go(func() { w.Run(ctx) })
		defer running.Wait()
		defer stop()
		want := func(kind alerts.Kind) {
			f.Helper()
			select {
			case a := <-told:
				if a.Kind != kind || a.Consumer != "gone" || a.Topic != "t" {
					f.Errorf("alert %+v, want %s", a, kind)
				}
			case <-time.After(enginetest.Bound):
				f.Fatalf("no alert %s", kind)
			}
		}
		want(alerts.SubscriptionStalled)
		if _, err := subscriptions.Remove(f.Context(), "gone", nil, true); err != nil {
			f.Fatal(err)
		}
		want(alerts.SubscriptionResumed)
	})
}
