package consumer_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/from"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/fault"
	"github.com/headrace/headrace/retry"
)

const deadQueue = topic + ".dead"

// gets are the ways in which a handler gets its messages.
var gets = map[string]func(c *consumer.Consumer, f consumer.Func[body], o ...consumer.Option){
	"alone in its transaction": func(c *consumer.Consumer, f consumer.Func[body], o ...consumer.Option) {
		consumer.Handle(c, topic, f, append(o, consumer.Alone())...)
	},
	"batch": func(c *consumer.Consumer, f consumer.Func[body], o ...consumer.Option) {
		consumer.HandleBatch(c, topic, func(ctx context.Context, tx *headrace.Tx, ms []*headrace.Message[body]) error {
			failed := make(consumer.BatchError)
			for i, m := range ms {
				if err := f(ctx, tx, m); err != nil {
					failed[i] = err
				}
			}
			if len(failed) > 0 {
				return failed
			}
			return nil
		}, o...)
	},
	"intake": func(c *consumer.Consumer, f consumer.Func[body], o ...consumer.Option) {
		consumer.Handle(c, topic, f, append(o, consumer.Intake())...)
	},
	"leased": func(c *consumer.Consumer, f consumer.Func[body], o ...consumer.Option) {
		consumer.HandleLeased(c, topic, func(_ context.Context, m *headrace.Message[body]) (headrace.Effects, error) {
			if m.Key == "waits" || m.Key == "dead" || m.Key == "discarded" {
				return nil, f(nil, nil, m)
			}
			return func(ctx context.Context, tx *headrace.Tx) error { return f(ctx, tx, m) }, nil
		}, o...)
	},
}

// A message of a broker's dead-letter queue meets each state of its inbox row, whichever way its
// handler gets messages: only one that was never taken becomes a letter. A redrive applies it once.
//
//evidence:ingest
func TestIngestMeetsEachState(t *testing.T) {
	t.Parallel()
	for name, handle := range gets {
		t.Run(name, func(t *testing.T) { onEachStore(t, func(b *bundle) { testIngestMeetsEachState(b, handle) }) })
	}
}

func testIngestMeetsEachState(b *bundle, handle func(*consumer.Consumer, consumer.Func[body], ...consumer.Option)) {
	c := b.consumer(b.config())
	handle(c, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
		switch m.Key {
		case "waits":
			return retry.After(time.Hour, errBoom)
		case "dead", "discarded":
			return retry.Permanent(errBoom)
		}
		return insert(ctx, tx, m)
	}, consumer.Ingest(deadQueue, b.src, from.RabbitMQ()))
	b.start(c)
	known := []string{"done", "waits", "dead", "discarded"}
	for _, id := range known {
		b.acked(b.deliver(id, `{"n":1}`))
	}
	admin := redrive.New(b.st)
	b.eventually("each has its state", func() bool {
		return b.effects("done") == 1 && len(b.attempts("waits")) == 1 && b.state("dead") == inbox.Dead && b.state("discarded") == inbox.Dead
	})
	_, err := admin.Discard(b.Context(), redrive.Request{Filter: dlq.Filter{Key: "discarded"}, By: "ann", Reason: "test"})
	if err != nil {
		b.Fatal(err)
	}

	before := c.Stats()
	why := map[string]string{"x-first-death-queue": topic, "x-first-death-reason": "rejected"}
	for _, id := range append(known, "new", "new") {
		b.acked(b.src.Deliver(deadQueue, id, []byte(`{"n":1}`), why))
	}
	b.acked(b.deliver("new", `{"n":1}`), b.src.Deliver(deadQueue, "done", []byte(`{"n":2}`), why))
	b.acked(b.src.Deliver(deadQueue, "bad", []byte("no JSON"), why), b.src.Deliver(deadQueue, "", []byte(`{}`), why))
	if s := c.Stats(); s.Duplicates-before.Duplicates != 6 || s.Dead-before.Dead != 3 || s.Conflicts-before.Conflicts != 1 {
		b.Errorf("%+v, before %+v", s, before)
	}
	want := map[string]string{"new": "rejected (given up by RabbitMQ, from orders.paid)", "bad": "rejected (given up by RabbitMQ, from orders.paid); and: ", "stand-in": "rejected"}
	for _, l := range b.letters(dlq.Filter{Class: dlq.Ingested}) {
		key, _, _ := strings.Cut(l.Delivery.Key, ":")
		if text, ok := want[key]; !ok || !strings.HasPrefix(l.Error, text) || l.Delivery.Topic != topic {
			b.Errorf("a letter of %s: %q, from topic %s", l.Delivery.Key, l.Error, l.Delivery.Topic)
		}
		delete(want, key)
	}
	if len(want) > 0 || b.state("waits") != inbox.Waiting || b.state("new") != inbox.Dead || b.state("discarded") != inbox.Discarded {
		b.Errorf("no letters of %v", want)
	}

	if _, err := admin.Redrive(b.Context(), redrive.Request{Filter: dlq.Filter{Key: "new"}, By: "ann", Reason: "test"}); err != nil {
		b.Fatal(err)
	}
	b.eventually("the letter is applied", func() bool { return b.state("new") == inbox.Done })
	b.acked(b.src.Deliver(deadQueue, "new", []byte(`{"n":1}`), why))
	if b.effects("new") != 1 || b.effects("done") != 1 {
		b.Errorf("new is applied %d times, done %d times", b.effects("new"), b.effects("done"))
	}
}

// A message that the reader takes for another consumer's leaves nothing.
func TestIngestPassesOver(t *testing.T) {
	b := setupSQLite(t)
	c := b.consumer(b.config())
	consumer.Handle(c, topic, insert, consumer.Ingest(deadQueue, b.src, from.SpringKafka("billing")))
	b.start(c)
	b.acked(b.src.Deliver(deadQueue, "1", []byte(`{}`), map[string]string{"kafka_dlt-original-consumer-group": "shipping"}))
	if s := c.Stats(); s.Delivered != 0 || b.state("1") != "" {
		b.Errorf("%+v, its state is %q", s, b.state("1"))
	}
	b.acked(b.src.Deliver(deadQueue, "2", []byte(`{}`), map[string]string{"kafka_dlt-original-consumer-group": "billing"}))
}

// A message may come again from the dead-letter queue after its time in the other: what is
// pruned earlier would be applied twice.
//
//evidence:ingest
func TestRetentionOfADeadLetterQueue(t *testing.T) {
	for name, c := range map[string]struct {
		dead time.Duration
		want error
		says string
	}{
		"both":     {48 * time.Hour, inbox.ErrWindow, "3 days of the source"},
		"says not": {0, inbox.ErrSourceRetention, "SourceRetention"},
	} {
		b := setupSQLite(t)
		config := b.config()
		config.Source, config.Retention.Window = retained{b.src, 24 * time.Hour}, time.Minute
		made := b.consumer(config)
		consumer.Handle(made, topic, insert, consumer.Ingest(deadQueue, retained{b.src, c.dead}, from.RabbitMQ()))
		if err := made.Err(); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %v with %q", name, err, c.want, c.says)
		}
	}
}

// Mistakes with Ingest are errors of Run that name the queue.
func TestIngestRefuses(t *testing.T) {
	b := setupSQLite(t)
	read := from.RabbitMQ()
	for want, register := range map[string]func(c *consumer.Consumer){
		"Ingest(nil): give a Watermill Subscriber":              func(c *consumer.Consumer) { consumer.Handle(c, topic, insert, consumer.Ingest("dead", nil, read)) },
		`Ingest("dead"): the from.Reader is nil`:                func(c *consumer.Consumer) { consumer.Handle(c, topic, insert, consumer.Ingest("dead", b.src, nil)) },
		`Ingest("orders.paid"): it is the topic of the handler`: func(c *consumer.Consumer) { consumer.Handle(c, topic, insert, consumer.Ingest(topic, b.src, read)) },
		"Ingest: the queue":                                     func(c *consumer.Consumer) { consumer.Handle(c, topic, insert, consumer.Ingest("", b.src, read)) },
		`Ingest("dead"): handler "orders.paid" already takes`:   func(c *consumer.Consumer) { two(c, b, consumer.Ingest("dead", b.src, read)) },
		`Ingest("orders.paid"): handler "orders.paid" already`:  func(c *consumer.Consumer) { two(c, b, consumer.Ingest(topic, b.src, read)) },
		`handler "orders.paid" already takes the messages of top`: func(c *consumer.Consumer) {
			consumer.Handle(c, topic, insert, consumer.Ingest("dead", b.src, read))
			consumer.Handle(c, "dead", insert)
		},
	} {
		c := b.consumer(b.config())
		register(c)
		if err := c.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

// two registers a handler with a dead-letter queue, and another with o.
func two(c *consumer.Consumer, b *bundle, o consumer.Option) {
	consumer.Handle(c, topic, insert, consumer.Ingest("dead", b.src, from.RabbitMQ()))
	consumer.Handle(c, "orders.lost", insert, o)
}

// A message of a dead-letter queue is not acknowledged before its letter is committed.
//
//evidence:ingest
func TestIngestAcknowledgesAfterTheCommit(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		m := message.NewMessage("new", []byte(`{"n":1}`))
		early := make(chan bool, 100)
		st := fault.Store(b.st, func(p fault.Point) error {
			if p != fault.LetterBeforeCommit {
				return nil
			}
			select {
			case <-m.Acked():
				early <- true
			default:
				early <- false
			}
			return nil
		})
		c, err := consumer.New("test", st, b.config())
		if err != nil {
			b.Fatal(err)
		}
		consumer.Handle(c, topic, insert, consumer.Ingest(deadQueue, b.src, from.RabbitMQ()))
		b.start(c)
		b.src.DeliverMessage(deadQueue, m)
		if <-early {
			b.Error("acknowledged before the commit")
		}
		b.acked(m)
		if state := b.state("new"); state != inbox.Dead {
			b.Errorf("its state is %q", state)
		}
	})
}
