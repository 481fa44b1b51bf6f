package consumer_test

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/codec"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/retry"
)

// secretWords is what no log may have.
const secretWords = "amqp://user:s3cr3t@host"

// refuser is a Publisher that takes nothing, and says so with the secretWords.
type refuser struct{}

func (refuser) Publish(string, ...*message.Message) error {
	return errors.New("publish to " + secretWords)
}
func (refuser) Close() error { return nil }

// wordy is a codec whose errors have the secretWords.
type wordy struct{ codec.Codec }

func (w wordy) Decode(payload []byte, v any) error {
	if bytes.Contains(payload, []byte("undecodable")) {
		return errors.New("decode " + secretWords)
	}
	return w.Codec.Decode(payload, v)
}

// logged lets config log into a buffer, which is read after the end.
func logged(config *consumer.Config) *bytes.Buffer {
	var logs bytes.Buffer
	config.Logger = slog.New(slog.NewJSONHandler(&logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	return &logs
}

// INVARIANT 20: the words of handlers', sinks', hooks', codecs' and key functions' errors
// are in no log.
//
//evidence:secret
func TestLogsHaveNoWordsOfTheUser(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		config := b.config()
		logs := logged(&config)
		config.Sink, config.Codec = refuser{}, wordy{codec.JSON()}
		told := make(chan alerts.Kind, 1000)
		config.Alert = func(_ context.Context, a alerts.Alert) error {
			told <- a.Kind
			return errors.New("post " + secretWords)
		}
		config.DeadLetterTopic = func(string) string { panic(secretWords) }
		config.Key = func(d *headrace.Delivery) (string, error) {
			if d.ID == "keyless" {
				return "", errors.New("key of " + secretWords)
			}
			return d.ID, nil
		}
		c := b.consumer(config)
		consumer.Handle(c, topic, func(_ context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			switch m.Key {
			case "panics":
				panic(secretWords)
			case "fails":
				return retry.Permanent(errors.New("charge " + secretWords))
			}
			return tx.Publish(headrace.Event{Topic: "invoices", Payload: []byte(`{}`)})
		})
		b.start(c)
		b.acked(b.deliver("publishes", `{}`), b.deliver("panics", `{}`), b.deliver("fails", `{}`),
			b.deliver("keyless", `{}`), b.deliver("undecodable", `"undecodable"`))
		b.eventually("letters of the failures", func() bool { return len(b.letters(dlq.Filter{})) == 4 })
		for kinds := map[alerts.Kind]bool{}; !kinds[alerts.RelayStalled] || !kinds[alerts.GroupFailing]; {
			kinds[<-told] = true
		}
		if err := b.halt(); err != nil {
			b.Error(err)
		}
		text := logs.String()
		if strings.Contains(text, "s3cr3t") {
			b.Errorf("the logs have words of the user's:\n%s", text)
		}
		for _, want := range []string{"relay: stalled", "message failed", "an alert was not sent", "no copy of a dead letter"} {
			if !strings.Contains(text, want) {
				b.Errorf("the logs have no %q:\n%s", want, text)
			}
		}
	})
}

// INVARIANT 20: a handler that fails because the database went away is no failure of its
// message, and its words still do not reach the logs, nor Ready; in the drain neither.
//
//evidence:secret
func TestLogsHaveNoWordsOfAHandlerInAnOutage(t *testing.T) {
	for _, from := range []string{"source", "backlog"} {
		t.Run(from, func(t *testing.T) {
			onEachStore(t, func(b *bundle) {
				f := b.failing()
				config := b.config()
				logs := logged(&config)
				c := b.consumer(config)
				first := true
				consumer.Handle(c, topic, func(_ context.Context, _ *headrace.Tx, m *headrace.Message[body]) error {
					if from == "backlog" && m.Attempt < 3 {
						return errors.New("to the backlog")
					}
					if first {
						first = false
						f.down.Store(true)
						return fmt.Errorf("charge %s: %w", secretWords, driver.ErrBadConn)
					}
					return nil
				})
				b.start(c)
				m := b.deliver("m", `{}`)
				b.eventually("the outage is known", func() bool { return f.down.Load() && c.Alive() == nil && c.Ready() != nil })
				if err := c.Ready(); strings.Contains(err.Error(), "s3cr3t") || !strings.Contains(err.Error(), "no database") {
					b.Errorf("Ready says %v", err)
				}
				f.down.Store(false)
				b.acked(m)
				b.eventually("ready again", func() bool { return c.Ready() == nil })
				if err := b.halt(); err != nil {
					b.Error(err)
				}
				if text := logs.String(); strings.Contains(text, "s3cr3t") || !strings.Contains(text, "the database cannot run our statements") {
					b.Errorf("the logs:\n%s", text)
				}
			})
		})
	}
}
