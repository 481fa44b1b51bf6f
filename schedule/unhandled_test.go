package schedule_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/schedule"
)

// lines keeps what was logged.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// A schedule without a handler is logged by its name: at the start, or where nothing takes
// any tick of the source, after a while.
func TestUnhandled(t *testing.T) {
	onEachStore(t, func(b *bed) {
		source := func(names ...string) (*schedule.Source, *lines) {
			var log lines
			o := schedule.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}
			for _, name := range names {
				o.Schedules = append(o.Schedules, schedule.Schedule{Name: name, Cron: "@yearly"})
			}
			s, err := schedule.NewSource(b.st, o)
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = s.Close() })
			return s, &log
		}
		says := func(log *lines, names ...string) func() bool {
			return func() bool {
				text, want := log.String(), 0
				for _, name := range names {
					want += strings.Count(text, fmt.Sprintf("no handler takes the ticks of a schedule: register one with schedule.Handle before Run, or take it out of Options.Schedules\" schedule=%s\n", name))
				}
				return want == len(names) && strings.Count(text, "\n") == want
			}
		}
		some, log := source("handled", "typo", "forgotten")
		c, err := consumer.New("c", b.st, consumer.Config{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			b.Fatal(err)
		}
		schedule.Handle(c, some, "handled", func(context.Context, *headrace.Tx, schedule.Tick) error { return nil })
		ctx, stop := context.WithCancel(b.Context())
		done := make(chan error, 1)
		go func() { done <- c.Run(ctx) }()
		b.eventually("the two without a handler are logged", says(log, "forgotten", "typo"))
		stop()
		if err := <-done; err != nil || !says(log, "forgotten", "typo")() {
			b.Errorf("%v, %s", err, log)
		}

		none, log := source("alone")
		none.Hurry()
		b.eventually("that of a source without a consumer is logged", says(log, "alone"))

		// A Router subscribes, and does not register: what it takes is not known at once.
		routed, log := source("one", "two")
		if _, err := routed.Subscribe(b.Context(), "one"); err != nil {
			b.Fatal(err)
		}
		closed, quiet := source("closed")
		_ = closed.Close()
		if text := log.String() + quiet.String(); text != "" {
			b.Error(text)
		}
	})
}
