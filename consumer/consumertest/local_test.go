package consumertest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/consumer/consumertest"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/retry"
)

// localOnly wires a consumer without a broker: its handler publishes an event for another
// consumer, which runs beside it or not.
func localOnly(beside bool) consumertest.Wire {
	return func(p *consumertest.Process) (*consumer.Consumer, error) {
		c, err := consumer.New("billing", p.Store, consumer.Config{Logger: p.Logger, Retry: policy})
		if err != nil {
			return nil, err
		}
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[order]) error {
			if err := invoice(ctx, tx, m); err != nil {
				return err
			}
			return tx.Publish(headrace.Event{Topic: "booked", Value: m.Body})
		}, consumer.Local())
		other, err := consumer.New("ledger", p.Store, consumer.Config{Logger: p.Logger, Retry: policy})
		if err != nil || !beside {
			return c, err
		}
		consumer.Handle(other, "booked", func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[order]) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO invoices (order_id, total) VALUES ($1, $2)", "booked-"+m.Body.ID, m.Body.Total)
			return err
		}, consumer.Local())
		p.Beside = []*consumer.Consumer{other}
		return c, nil
	}
}

// A consumer without a Source and a Sink comes to rest with its effects there, and waits
// for no consumer that does not run.
func TestLocalHandlersAlone(t *testing.T) {
	for name, beside := range map[string]bool{"alone": false, "beside another": true} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, db consumertest.Database) {
				k := kit(t, db, localOnly(beside))
				k.CrashAt(consumertest.BeforeCommit)
				k.Publish(headrace.Event{ID: "e1", Topic: topic, Value: order{"1", 10}}) // the first call of the kit, without Local
				k.Settle()
				k.Publish(headrace.Event{ID: "e2", Topic: topic, Value: order{"2", 10}})
				k.Settle()
				third := consumertest.JSON(topic, "e3", order{"3", 10})
				k.FailAttempt(third, 1, consumertest.AfterEffects, errors.New("away"))
				k.Publish(headrace.Event{ID: "e3", Topic: topic, Value: order{"3", 10}})
				k.AppliedOnce(third, invoiced, "3")
				if n := len(k.Attempts(third)); n != 1 {
					t.Errorf("%d failed attempts of an event that fails once", n)
				}
				k.AppliedOnce(consumertest.JSON(topic, "e1", order{"1", 10}), invoiced, "1")
				for _, id := range []string{"1", "2", "3"} {
					k.Published(consumertest.Event{Topic: "booked", Payload: []byte(`{"total": 10, "id": "` + id + `"}`)})
				}
				for _, id := range []string{"1", "2"} {
					booked := 0
					if beside {
						booked = 1
					}
					if n, more := k.Count(invoiced, id), k.Count(invoiced, "booked-"+id); n != 1 || more != booked {
						t.Errorf("order %s: %d effects, and %d of the other consumer, want %d", id, n, more, booked)
					}
				}
			})
		})
	}
}

// A local event that should not be there is found, whether a handler takes it or not.
func TestLocalEventsAreSeen(t *testing.T) {
	for _, beside := range []bool{false, true} {
		said := failure(func(t testing.TB) {
			k := kit(t, consumertest.SQLite(), localOnly(beside))
			k.Publish(headrace.Event{ID: "e1", Topic: topic, Value: order{"1", 10}})
			k.NotPublished(consumertest.Event{Topic: "booked"})
			k.Published(consumertest.Event{Topic: "booked", Payload: []byte(`{"id": "2"}`)})
		})
		says(t, said, `NotPublished: 1 events fit: topic "booked"`, `Published: no event fits: topic "booked"`)
	}
}

// besideEachOther wires two consumers with the kit's broker, on a topic each, or on one.
func besideEachOther(topics ...string) consumertest.Wire {
	return func(p *consumertest.Process) (*consumer.Consumer, error) {
		var all []*consumer.Consumer
		for i, topic := range topics {
			c, err := consumer.New([]string{"billing", "ledger"}[i], p.Store, consumer.Config{Source: p.Source, Logger: p.Logger, Retry: policy})
			if err != nil {
				return nil, err
			}
			consumer.Handle(c, topic, invoice)
			all = append(all, c)
		}
		p.Beside = all[1:]
		return all[0], nil
	}
}

// The kit's faults and assertions see the handlers of each consumer of a process.
func TestConsumersBesideEachOther(t *testing.T) {
	onEach(t, func(t *testing.T, db consumertest.Database) {
		k := kit(t, db, besideEachOther(topic, "returned"))
		paid, back := consumertest.JSON(topic, "1", order{"1", 10}), consumertest.JSON("returned", "2", order{"2", 10})
		bad := consumertest.JSON("returned", "3", order{"3", 10})
		for _, m := range []consumertest.Message{paid, back} {
			k.FailAttempt(m, 1, consumertest.AfterEffects, errors.New("connection reset"))
		}
		k.FailAttempt(bad, 1, consumertest.AfterEffects, retry.Permanent(errors.New("no such order")))
		k.FailAttempt(back, 2, consumertest.AfterEffects, retry.After(time.Hour, errors.New("busy")))
		k.Deliver(paid, back, bad)
		k.AppliedOnce(paid, invoiced, "1")
		k.AppliedOnce(back, invoiced, "2")
		k.DeadLettered(bad, dlq.Permanent, errors.New("no such order"))
		if n, delays := len(k.Attempts(back)), k.Delays(back); n != 2 || !slices.Contains(delays, time.Hour) {
			t.Errorf("%d attempts of the other consumer's message, delays %v", n, delays)
		}
		k.Redrive(bad)
		k.AppliedOnce(bad, invoiced, "3")
		k.CrashAt(consumertest.BeforeCommit)
		again := consumertest.JSON("returned", "4", order{"4", 10})
		k.Deliver(again)
		k.AppliedOnce(again, invoiced, "4")
	})
}

// Two consumers of one topic would share its messages: a broker gives each its own.
func TestTwoConsumersOfOneTopic(t *testing.T) {
	says(t, failure(func(t testing.TB) {
		k := kit(t, consumertest.SQLite(), besideEachOther(topic, topic))
		k.Deliver(paid("1"))
		k.Settle()
	}), "two subscriptions in one process")
}

// A message of a topic that no handler takes from the broker fails the test at once, with
// the topics of all consumers.
func TestDeliverWithoutHandler(t *testing.T) {
	for what, deliver := range map[string]func(k *consumertest.Kit, m consumertest.Message){
		"Deliver":       func(k *consumertest.Kit, m consumertest.Message) { k.Deliver(m) },
		"DeliverAtOnce": func(k *consumertest.Kit, m consumertest.Message) { k.DeliverAtOnce(2, m) },
		"Redeliver":     func(k *consumertest.Kit, m consumertest.Message) { k.Redeliver(m) },
	} {
		for _, c := range []struct {
			wire        consumertest.Wire
			topic, want string
		}{
			{besideEachOther(topic, "returned"), "order.paid", `no handler takes the topic "order.paid" from the broker: there are handlers for ["orders.paid" "returned"]`},
			{localOnly(true), topic, "its handler is Local and gets events: see Kit.Publish"},
		} {
			said := failure(func(t testing.TB) {
				k := kit(t, consumertest.SQLite(), c.wire)
				deliver(k, consumertest.JSON(c.topic, "1", order{"1", 10}))
				k.Settle()
			})
			if !strings.Contains(said, c.want) {
				t.Errorf("%s: %s", what, said)
			}
		}
	}
}

// An event that no handler and no Sink takes fails the test at once, with the topics that
// local handlers take, also before a process has started.
func TestPublishWithoutHandler(t *testing.T) {
	sinkAlone := func(p *consumertest.Process) (*consumer.Consumer, error) {
		c, err := consumer.New("billing", p.Store, consumer.Config{Source: p.Source, Sink: p.Sink, Logger: p.Logger})
		consumer.Handle(c, topic, invoice)
		return c, err
	}
	for what, c := range map[string]struct {
		wire    consumertest.Wire
		event   headrace.Event
		started bool
		want    string
	}{
		"typo":           {localOnly(true), headrace.Event{Topic: "order.paid", Local: true}, true, `no local handler takes the topic "order.paid", and no Sink publishes the event: there are local handlers (consumer.Local) for ["orders.paid" "booked"]`},
		"before a start": {localOnly(true), headrace.Event{Topic: "order.paid", Local: true}, false, `no local handler takes the topic "order.paid"`},
		"no Sink":        {localOnly(true), headrace.Event{Topic: "order.paid"}, true, `no local handler takes the topic "order.paid"`},
		"local":          {sinkAlone, headrace.Event{Topic: "invoiced", Local: true}, true, `there are local handlers (consumer.Local) for []`},
		"for the Sink":   {sinkAlone, headrace.Event{Topic: "invoiced"}, true, ""},
		"handled":        {localOnly(true), headrace.Event{Topic: "booked"}, true, ""},
	} {
		said := failure(func(t testing.TB) {
			k := kit(t, consumertest.SQLite(), c.wire)
			if c.started {
				k.Settle()
			}
			c.event.Value = order{"1", 10}
			k.Publish(c.event)
			if c.started && c.want != "" {
				t.Error("Publish went on")
			}
			k.Settle()
		})
		if !strings.Contains(said, c.want) || c.want == "" && said != "" || strings.Contains(said, "went on") {
			t.Errorf("%s: %q", what, said)
		}
	}
}
