package stalled

import (
	"context"
	"log/slog"
	"time"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/sleep"
	"github.com/headrace/headrace/outbox"
)

const (
	// Every is the usual time between two looks.
	Every = 30 * time.Second
	// after is how long events wait, and no process has a handler for them, before that is
	// an alert: a rolling deployment takes less.
	after = outbox.Unseen
	// lookTime bounds the queries of a look.
	lookTime = 10 * time.Second
)

// Watch looks for consumers that are stalled. All fields are required.
type Watch struct {
	Subscriptions outbox.Subscriptions
	Outbox        outbox.Admin
	// Send sends an alert, and does not block.
	Send func(alerts.Alert)
	// Every is the time between two looks.
	Every  time.Duration
	Logger *slog.Logger
}

// Run looks from time to time, until ctx ends. While another Watch of the same store runs in
// this process, it waits: that one tells of all consumers.
func (w *Watch) Run(ctx context.Context) {
	t, leave := join(w.Outbox.Signal())
	defer leave()
	select {
	case told := <-t.told:
		t.told <- w.watch(ctx, told)
	case <-ctx.Done():
	}
}

// watch looks until ctx ends. It takes and returns what was told.
func (w *Watch) watch(ctx context.Context, told map[string]string) map[string]string {
	failed := false
	for sleep.For(ctx, w.Every) {
		now, err := w.look(ctx)
		if err != nil {
			if !failed && ctx.Err() == nil {
				w.Logger.Warn("cannot look for events that no process takes; trying again", "error", encode.Said(err))
			}
			failed = true
			continue
		}
		failed = false
		for consumer, topic := range now {
			if _, was := told[consumer]; !was {
				w.Send(alerts.Alert{Kind: alerts.SubscriptionStalled, Consumer: consumer, Topic: topic,
					Text: "events wait for a local handler of this consumer that no process has: see headrace status"})
			}
		}
		for consumer, topic := range told {
			if _, is := now[consumer]; !is {
				w.Send(alerts.Alert{Kind: alerts.SubscriptionResumed, Consumer: consumer, Topic: topic, Text: "no events wait for a handler that no process has"})
			}
		}
		told = now
	}
	return told
}

// look returns the consumers that are stalled, with one of the topics.
func (w *Watch) look(ctx context.Context) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	list, err := w.Subscriptions.List(ctx, "")
	if err != nil {
		return nil, err
	}
	unseen := make(map[string]map[string]bool) // topics by consumer
	for _, s := range list {
		if s.Age < after {
			continue
		}
		if unseen[s.Consumer] == nil {
			unseen[s.Consumer] = make(map[string]bool)
		}
		unseen[s.Consumer][s.Topic] = true
	}
	stalled := make(map[string]string)
	for consumer, topics := range unseen {
		waiting, err := w.Outbox.Topics(ctx, outbox.LineOf(consumer))
		if err != nil {
			return nil, err
		}
		for _, t := range waiting {
			if topics[t.Topic] && t.Oldest >= after && stalled[consumer] == "" {
				stalled[consumer] = t.Topic
			}
		}
	}
	return stalled, nil
}
