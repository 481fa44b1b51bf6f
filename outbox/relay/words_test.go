package relay_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/headrace/headrace/outbox/relay"
)

// dial is an error as adapters give it.
type dial struct{ dsn string }

func (e *dial) Error() string { return "dial " + e.dsn }

// INVARIANT 20: a sink's error may hold credentials. Logs, the row and the hook of parked
// rows have its text without them.
//
//evidence:secret
func TestLogsHaveNoWordsOfTheSink(t *testing.T) {
	const canary, masked = "amqp://user:s3cr3t@host", "amqp://user:***@host"
	for name, fail := range map[string]func() error{
		"error": func() error { return fmt.Errorf("publish %s: %w", canary, &dial{canary}) },
		"panic": func() error { panic(canary) },
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(b *bundle) {
				var logs bytes.Buffer
				o := b.options()
				o.Logger = slog.New(slog.NewJSONHandler(&logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
				o.MaxAttempts = 2
				stalled, parked := make(chan error, 100), make(chan relay.Parked, 10)
				o.OnStalled = func(err error) { stalled <- err }
				o.OnParked = func(p relay.Parked) { parked <- p }
				b.sink.refusing(func(string, string) error { return fail() })
				r, stop := b.relay(b.st, o)
				b.publish(event("t", "", "bad"))
				if err := <-stalled; err == nil || !strings.Contains(err.Error(), canary) {
					b.Errorf("OnStalled has %v", err)
				}
				b.sink.refusing(func(_, id string) error {
					if id == "bad" {
						return fail()
					}
					return nil
				})
				quiet := b.company()
				p := <-parked
				quiet()
				stop()
				rows, err := b.st.Outbox().Parked(t.Context(), "", 0, 10)
				if err != nil || len(rows) != 1 || !strings.Contains(rows[0].Error, masked) || !strings.Contains(p.Error, masked) {
					b.Errorf("the row has %+v (%v), the hook %q", rows, err, p.Error)
				}
				if s, err := r.Status(t.Context()); err != nil || !strings.Contains(s.LastError, masked) {
					b.Errorf("the status has %q (%v)", s.LastError, err)
				}
				text := logs.String()
				if strings.Contains(text, "s3cr3t") {
					b.Errorf("the logs have the sink's words:\n%s", text)
				}
				for _, want := range []string{"relay: stalled", "relay: a row is parked", masked, `"error_type":"*re`, `"error_fingerprint":"`} {
					if !strings.Contains(text, want) {
						b.Errorf("the logs have no %q:\n%s", want, text)
					}
				}
			})
		})
	}
}

// An error whose methods panic is no end of the process.
func TestASinkErrorThatPanics(t *testing.T) {
	onEach(t, func(b *bundle) {
		o := b.options()
		o.MaxAttempts = 1
		parked := make(chan relay.Parked, 1)
		o.OnParked = func(p relay.Parked) { parked <- p }
		b.sink.refusing(func(_, id string) error {
			if id == "bad" {
				return errors.Join((*dial)(nil))
			}
			return nil
		})
		b.relay(b.st, o)
		b.publish(event("t", "", "bad"))
		stop := b.company()
		<-parked
		stop()
	})
}
