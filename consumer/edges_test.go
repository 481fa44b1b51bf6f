package consumer_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/codec"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/memsource"
	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/internal/pgtest/pgstore"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/postgres"
)

// fragile is a codec that panics on a word.
type fragile struct{ codec.Codec }

func (f fragile) Decode(payload []byte, into any) error {
	if strings.Contains(string(payload), "panic") {
		panic("codec")
	}
	return f.Codec.Decode(payload, into)
}

func (f fragile) Encode(value any) ([]byte, error) {
	if value == "panic" {
		panic("codec")
	}
	return f.Codec.Encode(value)
}

// Functions of the Config that panic cost their message, which is kept whole, and
// nothing else. A letter that the codec panics on may be redriven.
//
//evidence:panic
func TestPanicsOfTheConfigsFunctions(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		on := func(word string, d *headrace.Delivery) {
			if d.Metadata["panic"] == word {
				panic(word)
			}
		}
		config := b.config()
		config.Key = func(d *headrace.Delivery) (string, error) { on("key", d); return d.ID, nil }
		config.SameWhen = func(d *headrace.Delivery) (string, error) { on("fingerprint", d); return string(d.Payload), nil }
		config.OrderKey = func(d *headrace.Delivery) string { on("order key", d); return "" }
		config.Codec = fragile{codec.JSON()}
		config.Sink = &sink{got: make(chan *message.Message, 100)}
		config.DeadLetterTopic = func(string) string { panic("topic") }
		config.Alert = func(context.Context, alerts.Alert) error { panic("alert") }
		c := b.consumer(config)
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[string]) error {
			return tx.Publish(headrace.Event{Topic: "t", Value: m.Metadata["panic"]})
		}, consumer.Retry(retry.Policy{MaxAttempts: 1}))
		b.start(c)
		for _, word := range []string{"key", "fingerprint", "order key", "panic"} {
			b.acked(b.src.Deliver(topic, word, []byte(`"x"`), map[string]string{"panic": word}))
		}
		b.acked(b.deliver("codec", `"panic"`), b.deliver("fine", `"x"`))
		if got := len(b.letters(dlq.Filter{Class: dlq.Undecodable})); got != 4 {
			b.Errorf("%d undecodable letters", got)
		}
		if b.state("panic") != inbox.Dead || b.state("fine") != inbox.Done {
			b.Errorf("states %q, %q", b.state("panic"), b.state("fine"))
		}
		result, err := redrive.New(b.st).Redrive(b.Context(), redrive.Request{Filter: dlq.Filter{Key: "codec"}, By: "test", Reason: "try"})
		if err != nil || result.Done != 1 {
			b.Fatalf("%+v, %v", result, err)
		}
		b.eventually("it is dead again", func() bool {
			letters := b.letters(dlq.Filter{Key: "codec"})
			return len(letters) == 1 && letters[0].Redrives == 1
		})
	})
}

// A dead-letter topic that no event may have makes no copy; the dead letter is kept.
//
//evidence:copies
func TestBadDeadLetterTopicMakesNoCopy(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]string{"too long": strings.Repeat("x", 1025), "no text": "\xff", "NUL": "a\x00"} {
		t.Run(name, func(t *testing.T) {
			b := setupSQLite(t)
			sink := &sink{got: make(chan *message.Message, 10)}
			config := b.config()
			config.Sink = sink
			config.DeadLetterTopic = func(topic string) string {
				if topic == "good" {
					return "copies"
				}
				return bad
			}
			c := b.consumer(config)
			fail := func(context.Context, *headrace.Tx, *headrace.Message[body]) error { return retry.Permanent(errBoom) }
			consumer.Handle(c, topic, fail)
			consumer.Handle(c, "good", fail)
			b.start(c)
			b.acked(b.deliver("m", `{}`), b.src.Deliver("good", "g", []byte(`{}`), nil))
			if m := <-sink.got; m.Metadata.Get(dlq.HeaderKey) != "g" {
				t.Errorf("a copy of %v", m.Metadata)
			}
			if b.state("m") != inbox.Dead {
				t.Errorf("state %q", b.state("m"))
			}
		})
	}
}

// Conflict: garbage under a key that was used is kept as a letter, not acknowledged
// as a duplicate.
//
//evidence:conflict
func TestGarbageUnderAUsedKeyIsKept(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		c := b.consumer(b.config())
		consumer.Handle(c, topic, insert)
		b.start(c)
		b.acked(b.deliver("m", `{"n":1}`))
		b.acked(b.deliver("m", "garbage"), b.deliver("m", "garbage"))
		letters := b.letters(dlq.Filter{})
		if len(letters) != 1 || letters[0].Class != dlq.Conflict {
			b.Errorf("letters %+v", letters)
		}
	})
}

// hooked is a source whose Subscribe is a function.
type hooked func(ctx context.Context, topic string) (<-chan *message.Message, error)

func (h hooked) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	return h(ctx, topic)
}
func (hooked) Close() error { return nil }

// A Subscribe that fails ends Run with its error; one that hangs is told to end, and
// one that ignores that is left behind.
func TestSubscribe(t *testing.T) {
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	for _, c := range []struct {
		name      string
		subscribe hooked
		stop      bool
		want      error
	}{
		{"fails", func(context.Context, string) (<-chan *message.Message, error) { return nil, errBoom }, false, errBoom},
		{"hangs", func(ctx context.Context, _ string) (<-chan *message.Message, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, true, nil},
		{"ignores its context", func(context.Context, string) (<-chan *message.Message, error) {
			<-release
			return make(chan *message.Message), nil
		}, true, consumer.ErrDrainTimeout},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setupSQLite(t)
			asked := make(chan struct{}, 1)
			config := b.config()
			config.Source = hooked(func(ctx context.Context, topic string) (<-chan *message.Message, error) {
				asked <- struct{}{}
				return c.subscribe(ctx, topic)
			})
			made := b.consumer(config)
			consumer.Handle(made, topic, insert)
			b.start(made)
			<-asked
			if c.stop {
				b.stop()
			}
			err := b.wait()
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("Run returned %v, want %v", err, c.want)
			}
			if alive := made.Alive(); c.want == nil && !errors.Is(alive, consumer.ErrNotRunning) {
				t.Errorf("Alive says %v", alive)
			}
		})
	}
}

// A channel that the source closes while the consumer stops is no broken
// subscription.
func TestSourceThatClosesAtTheEnd(t *testing.T) {
	t.Parallel()
	for range 10 { // whichever of the two the receiver sees first
		b := setupSQLite(t)
		channel, asked := make(chan *message.Message), make(chan struct{})
		config := b.config()
		config.Source = hooked(func(context.Context, string) (<-chan *message.Message, error) {
			close(asked)
			return channel, nil
		})
		told := make(chan alerts.Kind, 10)
		config.Alert = func(_ context.Context, a alerts.Alert) error { told <- a.Kind; return nil }
		c := b.consumer(config)
		consumer.Handle(c, topic, insert)
		b.start(c)
		<-asked
		b.stop()
		close(channel)
		if err := b.wait(); err != nil || len(told) > 0 || !errors.Is(c.Alive(), consumer.ErrNotRunning) {
			t.Fatalf("Run %v, %d alerts, Alive %v", err, len(told), c.Alive())
		}
	}
}

// A source may hand over the same *message.Message again.
func TestSameMessageAgain(t *testing.T) {
	b := setupSQLite(t)
	c := b.consumer(b.config())
	consumer.Handle(c, topic, insert)
	m := message.NewMessage("m", []byte(`{"n":1}`))
	for range 3 {
		b.src.DeliverMessage(topic, m)
	}
	b.start(c)
	b.eventually("all are settled", func() bool { s := c.Stats(); return s.Delivered == 3 && s.InFlight == 0 })
	b.acked(m)
	if b.effects("m") != 1 {
		t.Errorf("%d effects", b.effects("m"))
	}
}

// What is infrastructure: while the database is not to be had the source is not read.
//
//evidence:outage
func TestSourceIsNotReadDuringAnOutage(t *testing.T) {
	b := setupSQLite(t)
	f := b.failing()
	c := b.consumer(b.config())
	consumer.Handle(c, topic, insert)
	b.start(c)
	b.acked(b.deliver("before", `{}`))
	f.down.Store(true)
	first := b.deliver("first", `{}`)
	b.eventually("not ready", func() bool { return c.Ready() != nil })
	var rest []*message.Message
	for n := range 100 {
		rest = append(rest, b.deliver(fmt.Sprint("m", n), `{}`))
	}
	asked := f.pings.Load()
	b.eventually("time has passed", func() bool { return f.pings.Load() >= asked+2 })
	// A receiver that waits at the gate has at most one more in its hands.
	if taken := c.Stats().Delivered; taken > 3 {
		t.Errorf("%d deliveries were taken", taken)
	}
	f.down.Store(false)
	b.acked(append(rest, first)...)
}

// Shutdown during an outage ends at once: everything is given back, no attempt is
// spent, nothing is dead.
//
//evidence:outage
func TestStopDuringAnOutage(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		f := b.failing()
		config := b.config()
		config.NackPause = time.Hour
		c := b.consumer(config)
		consumer.Handle(c, topic, func(context.Context, *headrace.Tx, *headrace.Message[body]) error {
			f.down.Store(true)
			return errBoom
		})
		var all []*message.Message
		for n := range 50 {
			all = append(all, b.deliver(fmt.Sprint("m", n), `{}`))
		}
		b.start(c)
		b.eventually("not ready", func() bool { return f.down.Load() && c.Ready() != nil })
		start := time.Now()
		if err := b.halt(); err != nil {
			b.Error(err)
		}
		if took := time.Since(start); took > 10*time.Second {
			b.Errorf("took %s", took)
		}
		for _, m := range all[:1] {
			if ok, err := memsource.Outcome(b.Context(), m); ok || err != nil {
				b.Errorf("acked %v, %v", ok, err)
			}
		}
		if s := c.Stats(); s.InFlight != 0 || s.Dead+s.Applied+s.Waiting != 0 {
			b.Errorf("stats %+v", s)
		}
		if n := len(b.attempts("m0")); n != 0 {
			b.Errorf("%d attempts", n)
		}
	})
}

// Nack: the pause before a delivery is given back ends with the consumer.
func TestNackPauseEndsWithTheConsumer(t *testing.T) {
	b := setupSQLite(t)
	config := b.config()
	config.NackPause = time.Hour
	c := b.consumer(config)
	consumer.Handle(c, topic, insert)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := message.NewMessage("m", []byte(`{}`))
	m.SetContext(ctx)
	b.src.DeliverMessage(topic, m)
	b.start(c)
	b.eventually("it is released", func() bool { return c.Stats().Released == 1 })
	select {
	case <-m.Nacked():
		t.Error("given back without a pause")
	default:
	}
	if err := b.halt(); err != nil {
		t.Error(err)
	}
	<-m.Nacked()
}

// Alive is red while as many handlers hang as may run at once, and no longer.
func TestAliveWhileHandlersHang(t *testing.T) {
	t.Parallel()
	b := setupSQLite(t)
	goOn := make(chan struct{})
	config := b.config()
	config.Concurrency = 1
	c := b.consumer(config)
	consumer.Handle(c, topic, func(context.Context, *headrace.Tx, *headrace.Message[body]) error { <-goOn; return nil },
		consumer.Timeout(10*time.Millisecond), consumer.Retry(retry.Policy{MaxAttempts: 1}))
	b.start(c)
	b.acked(b.deliver("m", `{}`))
	if err := c.Alive(); err == nil || errors.Is(err, consumer.ErrNotRunning) {
		t.Errorf("alive with a handler that hangs: %v", err)
	}
	close(goOn)
	b.eventually("alive again", func() bool { return c.Alive() == nil })
}

// A handler that never returns does not keep Run from returning, with an error.
//
//evidence:left-behind
func TestHandlerThatNeverReturns(t *testing.T) {
	t.Parallel()
	b := setupSQLite(t)
	goOn := make(chan struct{})
	t.Cleanup(func() { close(goOn) })
	config := b.config()
	config.DrainTimeout = 10 * time.Millisecond
	c := b.consumer(config)
	consumer.Handle(c, topic, func(context.Context, *headrace.Tx, *headrace.Message[body]) error { <-goOn; return nil },
		consumer.Timeout(10*time.Millisecond), consumer.Retry(retry.Policy{MaxAttempts: 1}))
	b.start(c)
	b.acked(b.deliver("m", `{}`))
	if err := b.halt(); !errors.Is(err, consumer.ErrDrainTimeout) {
		t.Errorf("Run returned %v", err)
	}
}

// Bad input 34: a pool of one connection is slow, and enough for handlers, failures,
// backlog, redrive and relay together.
//
//evidence:in-flight
func TestPoolOfOne(t *testing.T) {
	t.Parallel()
	dsn, schema := pgstore.New(t)
	db := pgtest.OpenDB(t, pgstore.Driver(t), dsn)
	db.SetMaxOpenConns(1)
	st, err := postgres.New(t.Context(), db, postgres.Options{Schema: schema, Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	b := newBundle(t, st, pgtest.OpenDB(t, "postgres", dsn))
	sink := &sink{got: make(chan *message.Message, 100)}
	config := b.config()
	config.Sink, config.Strict, config.OrderKey = sink, true, ofCustomer
	c := b.consumer(config)
	var r runs
	work := func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
		switch n := r.next(m.ID); {
		case m.Body.N == 1 && n < 3:
			return errBoom
		case m.Body.N == 2 && n == 1:
			return retry.Permanent(errBoom)
		case m.Body.N == 3:
			return fmt.Errorf("a call: %w", net.ErrClosed) // looks like a lost connection
		case m.Body.N == 4: // loses the one connection: whose fault that is, the store is asked on another
			_, err := tx.ExecContext(ctx, "SELECT pg_terminate_backend(pg_backend_pid())")
			return err
		}
		return errors.Join(insert(ctx, tx, m), tx.Publish(headrace.Event{Topic: "done", Value: m.Body.N}))
	}
	for n := range 3 {
		consumer.Handle(c, fmt.Sprint(topic, n), work)
	}
	b.start(c)
	var all []*message.Message
	for n := range 20 {
		all = append(all, b.src.Deliver(fmt.Sprint(topic, n%3), fmt.Sprint("m", n), fmt.Appendf(nil, `{"n":%d}`, n),
			map[string]string{"customer": fmt.Sprint("c", n%3)}))
	}
	b.acked(all...)
	b.eventually("the third is dead", func() bool { return b.state("m3") == inbox.Dead })
	b.eventually("so is the fourth", func() bool {
		if err := c.Ready(); err != nil {
			b.Fatalf("a lost connection is taken for an outage: %v", err)
		}
		return b.state("m4") == inbox.Dead
	})
	if _, err := redrive.New(b.st).Redrive(b.Context(), redrive.Request{Filter: dlq.Filter{Key: "m2"}, By: "test", Reason: "try"}); err != nil {
		t.Fatal(err)
	}
	for n := range 20 {
		id := fmt.Sprint("m", n)
		b.eventually(id, func() bool { return n == 3 || n == 4 || b.effects(id) == 1 })
	}
}
