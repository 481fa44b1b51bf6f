package consumer_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/schedule"
)

// loud returns the lines above level debug.
func (l *textLog) loud() (lines []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		if !strings.Contains(line, "level=DEBUG") {
			lines = append(lines, line)
		}
	}
	return lines
}

// An outage of the database is one line when it begins and one when it ends, whatever else
// the consumer does: beats, pauses, requests, redrives, local events, a relay, a schedule.
//
//evidence:outage
func TestOutageIsTwoLines(t *testing.T) {
	for _, driver := range []string{"open", "pgx"} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			b, dsn, schema := newPostgres(t, "postgres")
			network, through := pgtest.NewProxy(t, dsn)
			st := behind(t, driver, through, schema)
			t.Cleanup(func() { _ = st.Close() })
			log := new(textLog)
			config := b.config()
			config.Sink, config.Alert, config.Alerts, config.Retention.Off = &counting{}, nil, alerts.Options{}, true
			config.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			ticks, err := schedule.NewSource(st, schedule.Options{Schedules: []schedule.Schedule{{Name: "yearly", Cron: "@yearly"}}, Logger: config.Logger})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = ticks.Close() })
			ticks.Hurry()
			c, err := consumer.New("test", st, config)
			if err != nil {
				t.Fatal(err)
			}
			consumer.Handle(c, topic, insert)
			consumer.Handle(c, "local", insert, consumer.Local())
			consumer.Handle(c, "yearly", insert, append(schedule.Identity(), consumer.From(ticks))...)
			b.start(c)
			b.acked(b.deliver("before", `{}`))
			b.eventually("ready", func() bool { return c.Ready() == nil })
			before := len(log.loud())
			network.Cut()
			b.eventually("not ready", func() bool { return c.Ready() != nil })
			// It looks each second, and what fails for 5 s would be logged.
			b.eventually("many looks have failed", func() bool { return log.count("cannot look for requests") > 8 })
			during := b.deliver("during", `{}`)
			network.Mend()
			b.acked(during)
			b.eventually("ready again", func() bool { return c.Ready() == nil })
			if err := b.halt(); err != nil {
				t.Error(err)
			}
			lines := log.loud()[before:]
			if len(lines) != 2 || !strings.Contains(lines[0], "the database cannot run our statements") || !strings.Contains(lines[0], "level=ERROR") || !strings.Contains(lines[0], "error=") ||
				!strings.Contains(lines[1], "the database runs our statements again") || !strings.Contains(lines[1], "level=INFO") {
				t.Errorf("logged:\n%s", strings.Join(lines, ""))
			}
			for _, part := range []string{"cannot beat", "no ticks", "cannot count dead letters", "relay: ", "local events", "whether the consumer is paused", "a redrive could not"} {
				if log.count(part) == 0 {
					t.Errorf("%q is not there at level debug", part)
				}
			}
		})
	}
}
