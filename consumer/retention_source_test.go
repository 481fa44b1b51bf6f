package consumer_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/retry"
)

// Invariant 17, with a source per handler: the one that keeps messages longest counts,
// and one that does not say is as none that do. Nor is it known of a local handler.
func TestRetentionOfSeveralSources(t *testing.T) {
	for name, c := range map[string]struct {
		own  time.Duration
		want error
		says string
	}{
		"longer":   {48 * time.Hour, inbox.ErrWindow, "2 days of the source"},
		"shorter":  {time.Hour, inbox.ErrWindow, "1 day of the source"},
		"brief":    {time.Nanosecond, inbox.ErrWindow, "1 day of the source"},
		"says not": {0, inbox.ErrSourceRetention, "SourceRetention"},
	} {
		t.Run(name, func(t *testing.T) {
			b := setupSQLite(t)
			config := b.config()
			config.Source = retained{b.src, 24 * time.Hour}
			config.Retention.Window = time.Minute
			made := b.consumer(config)
			consumer.Handle(made, topic, insert)
			consumer.Handle(made, "own", insert, consumer.From(retained{b.src, c.own}))
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // a run that is not refused
			defer cancel()
			if err := made.Run(ctx); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %v with %q", err, c.want, c.says)
			}
		})
	}
}

// Invariant 17, with a local handler: a program may write an event again at any time, so
// nothing is pruned until the user says for how long it may.
func TestRetentionOfALocalHandler(t *testing.T) {
	b := setupSQLite(t)
	for name, c := range map[string]struct {
		beside    bool
		retention inbox.Retention
		on        bool
		want      error
	}{
		"nothing said":     {want: nil},
		"beside a source":  {beside: true, want: nil},
		"a window alone":   {retention: inbox.Retention{Window: time.Minute}, want: inbox.ErrSourceRetention},
		"as the user says": {retention: inbox.Retention{SourceRetention: 24 * time.Hour}, on: true},
	} {
		config := b.config()
		config.Source, config.Retention = retained{b.src, time.Hour}, c.retention
		made := b.consumer(config)
		consumer.Handle(made, topic, insert, consumer.Local())
		if c.beside {
			consumer.Handle(made, "own", insert)
		}
		if _, on, err := made.Runtime().Prunes(); on != c.on || !errors.Is(err, c.want) {
			t.Errorf("%s: pruning is on: %t, %v", name, on, err)
		}
	}
}

// A broker is asked for the retention of a topic once, and when it serves the
// subscriptions: before that it may be away.
func TestRetentionIsAskedForOnce(t *testing.T) {
	t.Parallel()
	b := setupSQLite(t)
	src := &askedSource{awaySource: &awaySource{Source: b.src}}
	src.away.Store(true)
	config := b.config()
	config.Source, config.Retention = src, inbox.Retention{Window: 1000 * time.Hour}
	c := b.consumer(config)
	consumer.Handle(c, topic, insert, consumer.Retry(retry.Policy{MaxAttempts: 1}))
	b.start(c)
	b.eventually("it waits", func() bool { return errors.Is(c.Ready(), errAway) })
	if n := src.asked.Load(); n != 0 {
		t.Errorf("asked %d times while the broker is away", n)
	}
	src.away.Store(false)
	b.eventually("it asks", func() bool { return src.asked.Load() > 0 && c.Ready() == nil })
	must(b, b.halt())
	if n := src.asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

// askedSource counts how often it is asked.
type askedSource struct {
	*awaySource
	asked atomic.Int32
}

func (s *askedSource) TopicRetention(string) time.Duration {
	s.asked.Add(1)
	return time.Hour
}

// A Router's handlers have no source that could say it, so a window alone is refused.
func TestRetentionOfARouterIsRefused(t *testing.T) {
	b := setupSQLite(t)
	r := b.router()
	r.router.AddConsumerHandler("h", topic, b.src, func(*message.Message) error { return nil })
	config := r.attached()
	config.Retention = inbox.Retention{Window: 1000 * time.Hour}
	if _, err := consumer.Attach(r.router, b.st, config); !errors.Is(err, inbox.ErrSourceRetention) {
		t.Error(err)
	}
}
