package consumer_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
)

// Invariant 17, with a source per handler: the one that keeps messages longest counts,
// and one that does not say is as none that do. A handler without a source asks for
// nothing.
func TestRetentionOfSeveralSources(t *testing.T) {
	for name, c := range map[string]struct {
		own  time.Duration
		want error
		says string
	}{
		"longer":   {48 * time.Hour, inbox.ErrWindow, "48h0m0s of the source"},
		"shorter":  {time.Hour, inbox.ErrWindow, "24h0m0s of the source"},
		"brief":    {time.Nanosecond, inbox.ErrWindow, "24h0m0s of the source"},
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
			consumer.Handle(made, "routed", insert, consumer.Local())
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // a run that is not refused
			defer cancel()
			if err := made.Run(ctx); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %v with %q", err, c.want, c.says)
			}
		})
	}
}

// A consumer that is fed from its own database alone needs no word of any source.
func TestRetentionWithoutASource(t *testing.T) {
	b := setupSQLite(t)
	config := b.config()
	config.Source, config.Retention.Window = nil, time.Minute
	made := b.consumer(config)
	consumer.Handle(made, topic, insert, consumer.Local())
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // a run that is not refused
	defer cancel()
	if err := made.Run(ctx); !errors.Is(err, inbox.ErrWindow) || !strings.Contains(err.Error(), "1h0m0s of the source") {
		t.Errorf("%v, want ErrWindow", err)
	}
}
