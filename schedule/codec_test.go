package schedule_test

import (
	"context"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/codec"
	"github.com/headrace/headrace/codec/cloudevents"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/consumer/consumertest"
	"github.com/headrace/headrace/schedule"
)

// A tick is read whatever the consumer's codec is, which is for the messages of its other
// handlers and for events.
func TestTickWithAnyCodec(t *testing.T) {
	t.Parallel()
	events, err := cloudevents.New("/test", cloudevents.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]codec.Codec{
		"required":    codec.JSON(codec.Strict(), codec.Required("id")),
		"raw":         codec.Raw(),
		"cloudevents": events,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := consumertest.New(t, consumertest.SQLite(), func(p *consumertest.Process) (*consumer.Consumer, error) {
				src, err := schedule.NewSource(p.Store, schedule.Options{Schedules: []schedule.Schedule{{Name: "report", Cron: "30 0 * * *"}}, Logger: p.Logger})
				if err != nil {
					return nil, err
				}
				made, err := consumer.New("nightly", p.Store, consumer.Config{Codec: c, Logger: p.Logger, Sink: p.Sink})
				if err != nil {
					return nil, err
				}
				schedule.Handle(made, src, "report", func(ctx context.Context, tx *headrace.Tx, tick schedule.Tick) error {
					if err := insert(ctx, tx, tick); err != nil || name != "raw" {
						return err
					}
					return tx.Publish(headrace.Event{Topic: "reports.made", Value: []byte("as it is")})
				})
				return made, nil
			})
			k.Exec("CREATE TABLE ticks (at TEXT NOT NULL, late BOOLEAN NOT NULL, fired BOOLEAN NOT NULL)")
			tick := k.Tick("report", time.Date(2026, 7, 1, 0, 30, 0, 0, time.UTC))
			k.Deliver(tick)
			k.AppliedOnce(tick, "SELECT count(*) FROM ticks WHERE at = $1", tick.ID)
			if name == "raw" {
				k.Published(consumertest.Event{Topic: "reports.made", Payload: []byte("as it is")})
			}
		})
	}
}

// The ticks of a schedule keep their order key, so that they do not overlap, whatever the
// consumer's is.
func TestTickWithAnyOrderKey(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	k := consumertest.New(t, consumertest.SQLite(), func(p *consumertest.Process) (*consumer.Consumer, error) {
		src, err := schedule.NewSource(p.Store, schedule.Options{Schedules: []schedule.Schedule{{Name: "report", Cron: "30 0 * * *"}}, Logger: p.Logger})
		if err != nil {
			return nil, err
		}
		c, err := consumer.New("nightly", p.Store, consumer.Config{Logger: p.Logger, OrderKey: func(d *headrace.Delivery) string { return d.Metadata["account"] }})
		if err != nil {
			return nil, err
		}
		schedule.HandleLeased(c, src, "report", func(_ context.Context, m *headrace.Message[schedule.Tick]) (headrace.Effects, error) {
			got <- m.OrderKey
			return nil, nil
		})
		return c, nil
	})
	k.Deliver(k.Tick("report", time.Date(2026, 7, 1, 0, 30, 0, 0, time.UTC)))
	k.Settle()
	if key := <-got; key != "report" {
		t.Errorf("the order key is %q", key)
	}
}
