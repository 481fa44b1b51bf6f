package consumer_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/memsource"
	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/internal/pgtest/pgstore"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/postgres"
)

// Invariant 18: in flight is bounded by number and by bytes; one message above the
// bytes is taken alone.
//
//evidence:in-flight
func TestInFlightIsBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*consumer.Config)
		most   int64
	}{
		{"number", func(c *consumer.Config) { c.MaxInFlight = 3 }, 3},
		{"bytes", func(c *consumer.Config) { c.MaxInFlightBytes = 2500 }, 2},
		{"larger than the bytes", func(c *consumer.Config) { c.MaxInFlightBytes = 10 }, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := setupSQLite(t)
			goOn := make(chan struct{})
			config := b.config()
			c.change(&config)
			made := b.consumer(config)
			consumer.Handle(made, topic, func(context.Context, *headrace.Tx, *headrace.Message[string]) error {
				<-goOn
				return nil
			})
			b.start(made)
			var all []*message.Message
			for n := range 10 {
				all = append(all, b.deliver(fmt.Sprint("m", n), `"`+strings.Repeat("x", 1000)+`"`))
			}
			b.eventually("the bound is reached", func() bool { return made.Stats().InFlight == c.most })
			close(goOn)
			b.acked(all...)
		})
	}
}

// Trap Nack: one message was delivered 587,788 times in a second. A delivery whose
// context has ended is given back, and not at once.
//
//evidence:subscription
func TestNackPauses(t *testing.T) {
	t.Parallel()
	b := setupSQLite(t)
	config := b.config()
	config.NackPause = 200 * time.Millisecond
	c := b.consumer(config)
	consumer.Handle(c, topic, insert)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := message.NewMessage("m", []byte(`{}`))
	m.SetContext(ctx)
	start := time.Now()
	b.src.DeliverMessage(topic, m)
	b.start(c)
	if ok, err := memsource.Outcome(t.Context(), m); ok || err != nil {
		t.Errorf("acked %v, %v", ok, err)
	}
	if took := time.Since(start); took < config.NackPause {
		t.Errorf("given back after %s", took)
	}
	if b.effects("m") != 0 || b.state("m") != "" {
		t.Error("a cancelled delivery left something")
	}
}

// Faults 5 and 7: a handler that ignores its deadline is left behind; its message
// is a failed attempt, others go on, and what it does later has no effect.
//
//evidence:left-behind
func TestStuckHandlerIsLeftBehind(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		goOn, late := make(chan struct{}), make(chan error, 1)
		config := b.config()
		config.Concurrency = 1
		c := b.consumer(config)
		var first atomic.Bool
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			if m.ID == "stuck" && first.CompareAndSwap(false, true) {
				<-goOn // not ctx.Done
				_, err := tx.ExecContext(context.WithoutCancel(ctx), "INSERT INTO effects (msg) VALUES ('late')")
				late <- err
				return nil
			}
			return insert(ctx, tx, m)
		}, consumer.Timeout(time.Second))
		b.start(c)
		stuck := b.deliver("stuck", `{}`)
		b.acked(stuck, b.deliver("other", `{}`))
		b.eventually("the stuck one is applied by its next attempt", func() bool { return b.state("stuck") == inbox.Done })
		close(goOn)
		if err := <-late; err == nil {
			b.Error("the handler's Tx worked after it was left behind")
		}
		if b.effects("late") != 0 || b.effects("stuck") != 1 || b.effects("other") != 1 || len(b.attempts("stuck")) != 1 {
			b.Error("effects do not fit")
		}
		if err := b.halt(); err != nil {
			b.Error(err)
		}
	})
}

// The same inside a statement that ignores the handler's context: a connection of the
// store's own is cut, and the statement ends with it.
//
//evidence:left-behind
func TestStuckStatementIsCut(t *testing.T) {
	t.Parallel()
	dsn, schema := pgstore.New(t)
	st := pgstore.Open(t, dsn, postgres.Options{Schema: schema, Migrate: true})
	b := newBundle(t, st, pgtest.OpenDB(t, "postgres", dsn))
	late := make(chan error, 1)
	config := b.config()
	config.Concurrency = 1
	c := b.consumer(config)
	consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
		if m.ID != "stuck" {
			return insert(ctx, tx, m)
		}
		_, err := tx.ExecContext(context.WithoutCancel(ctx), "SELECT pg_sleep(8)")
		late <- err
		return err
	}, consumer.Timeout(time.Second), consumer.Retry(retry.Policy{MaxAttempts: 1}))
	b.start(c)
	b.acked(b.deliver("stuck", `{}`), b.deliver("other", `{}`))
	if err := <-late; err == nil {
		b.Error("the statement ran to its end")
	}
	if b.state("stuck") != inbox.Dead || b.effects("other") != 1 {
		b.Errorf("state %q, %d effects", b.state("stuck"), b.effects("other"))
	}
}

// A sink publishes what handlers publish, and copies of dead letters under
// "<topic>.dead" with the payload as it came.
//
//evidence:copies
func TestSinkGetsEventsAndLetters(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		sink := &sink{got: make(chan *message.Message, 10)}
		config := b.config()
		config.Sink = sink
		c := b.consumer(config)
		consumer.Handle(c, topic, func(_ context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			if m.ID == "bad" {
				return errBoom
			}
			return tx.Publish(headrace.Event{ID: "e", Topic: "invoices", Value: m.Body})
		})
		b.start(c)
		b.acked(b.deliver("good", `{"n":1}`), b.src.Deliver(topic, "bad", []byte(`{"n": 2}`), map[string]string{"h": "v"}))
		for range 2 {
			m := <-sink.got
			switch m.Metadata.Get("topic-of-sink") {
			case "invoices":
				if m.UUID != "e" || string(m.Payload) != `{"n":1}` {
					b.Errorf("event %s %s", m.UUID, m.Payload)
				}
			case topic + ".dead":
				if string(m.Payload) != `{"n": 2}` || m.Metadata.Get("h") != "v" || m.Metadata.Get(dlq.HeaderKey) != "bad" ||
					m.Metadata.Get(dlq.HeaderClass) != string(dlq.Exhausted) {
					b.Errorf("copy %s %v", m.Payload, m.Metadata)
				}
			default:
				b.Errorf("published to %q", m.Metadata.Get("topic-of-sink"))
			}
		}
	})
}

// sink is a message.Publisher that hands over what it is given.
type sink struct{ got chan *message.Message }

func (s *sink) Publish(topic string, ms ...*message.Message) error {
	for _, m := range ms {
		m.Metadata.Set("topic-of-sink", topic)
		s.got <- m
	}
	return nil
}

func (s *sink) Close() error { return nil }

// Claim: keys that another process works on are left alone for a while, in a group and
// alone; no other message waits for them.
//
//evidence:busy
func TestBusyKeysDoNotHoldUpOthers(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]int{"within": 3, "at the head": 0} {
		t.Run(name, func(t *testing.T) {
			b := setupPostgres(t)
			held, err := b.st.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer held.Rollback()
			id := inbox.ID{Scope: "test/" + topic, Key: fmt.Sprint("m", first)}
			if _, err := b.st.Inbox().Claim(t.Context(), held, inbox.ClaimRequest{Claims: []inbox.Claim{{ID: id, Fingerprint: "f"}}}); err != nil {
				t.Fatal(err)
			}
			config := b.config()
			config.Concurrency = 1
			c := b.consumer(config)
			consumer.Handle(c, topic, insert)
			var all []*message.Message
			for n := range 10 {
				all = append(all, b.deliver(fmt.Sprint("m", n), `{}`))
			}
			b.start(c)
			b.acked(append(append([]*message.Message{}, all[:first]...), all[first+1:]...)...)
			held.Rollback()
			b.acked(all[first])
			if got := b.count("SELECT count(*) FROM effects"); got != 10 {
				t.Errorf("%d effects of 10", got)
			}
			if n := b.count("SELECT count(*) FROM headrace_attempts"); n != 0 {
				t.Errorf("%d attempts", n)
			}
		})
	}
}
