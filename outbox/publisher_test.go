package outbox_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/components/cqrs"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/go-cmp/cmp"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/memsource"
	"github.com/headrace/headrace/outbox"
)

// placed is an event of a program that uses cqrs.
type placed struct {
	ID string `json:"id"`
}

func begin(t *testing.T, st database) *sql.Tx {
	t.Helper()
	tx, err := st.DB().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

func commit(t *testing.T, tx *sql.Tx) {
	t.Helper()
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

// stored returns the events on the ready line, those of a shard in order.
func stored(t *testing.T, st database) (events []headrace.Event) {
	t.Helper()
	tx, err := st.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	for shard := range outbox.Shards {
		rows, err := st.Outbox().Read(t.Context(), tx, shard, 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			events = append(events, row.Event)
		}
	}
	return events
}

func eventBus(t *testing.T, p message.Publisher) *cqrs.EventBus {
	t.Helper()
	bus, err := cqrs.NewEventBusWithConfig(p, cqrs.EventBusConfig{
		GeneratePublishTopic: func(cqrs.GenerateEventPublishTopicParams) (string, error) { return "orders.placed", nil },
		Marshaler:            cqrs.JSONMarshaler{GenerateName: cqrs.StructName},
	})
	if err != nil {
		t.Fatal(err)
	}
	return bus
}

// Watermill's EventBus works unchanged: what it publishes stands or falls with the
// transaction that the context carries.
func TestPublisherUnderAnEventBus(t *testing.T) {
	onEach(t, func(t *testing.T, st database, _ *outbox.Outbox) {
		bus := eventBus(t, outbox.NewPublisher(st.Outbox(), outbox.PublisherOptions{}))
		lost := begin(t, st)
		if err := bus.Publish(outbox.WithTx(t.Context(), lost), placed{"0"}); err != nil {
			t.Fatal(err)
		}
		if err := lost.Rollback(); err != nil {
			t.Fatal(err)
		}
		if n := count(t, st); n != 0 {
			t.Errorf("%d rows after the rollback", n)
		}
		tx := begin(t, st)
		if err := bus.Publish(outbox.WithTx(t.Context(), tx), placed{"1"}); err != nil {
			t.Fatal(err)
		}
		commit(t, tx)
		events := stored(t, st)
		if len(events) != 1 || string(events[0].Payload) != `{"id":"1"}` || events[0].Topic != "orders.placed" || events[0].Metadata["name"] != "placed" {
			t.Errorf("stored %+v", events)
		}
	})
}

// An event handler of Watermill's EventProcessor publishes through the EventBus in the
// transaction of the message that it handles; one that fails publishes nothing.
func TestPublisherUnderAnEventProcessor(t *testing.T) {
	onEach(t, func(t *testing.T, st database, _ *outbox.Outbox) {
		bus := eventBus(t, outbox.NewPublisher(st.Outbox(), outbox.PublisherOptions{}))
		router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
		if err != nil {
			t.Fatal(err)
		}
		// A transaction for each message, in its context.
		router.AddMiddleware(func(h message.HandlerFunc) message.HandlerFunc {
			return func(m *message.Message) ([]*message.Message, error) {
				tx := begin(t, st)
				m.SetContext(outbox.WithTx(m.Context(), tx))
				out, err := h(m)
				if err != nil {
					return nil, errors.Join(err, tx.Rollback())
				}
				return out, tx.Commit()
			}
		})
		source := memsource.New()
		process(t, router, source, func(ctx context.Context, e *placed) error {
			if err := bus.Publish(ctx, e); err != nil {
				return err
			}
			if strings.HasPrefix(e.ID, "bad") {
				return errors.New("bad")
			}
			return nil
		})
		for id, good := range map[string]bool{"good": true, "bad": false} {
			m := source.Deliver("in", id, []byte(`{"id":"`+id+`"}`), map[string]string{"name": "placed"})
			if acked, err := memsource.Outcome(t.Context(), m); err != nil || acked != good {
				t.Errorf("%s: acked %t, %v", id, acked, err)
			}
		}
		if events := stored(t, st); len(events) != 1 || string(events[0].Payload) != `{"id":"good"}` {
			t.Errorf("stored %+v", events)
		}
	})
}

// process runs router with an event handler until the test ends.
func process(t *testing.T, router *message.Router, source message.Subscriber, f func(context.Context, *placed) error) {
	t.Helper()
	processor, err := cqrs.NewEventProcessorWithConfig(router, cqrs.EventProcessorConfig{
		GenerateSubscribeTopic: func(cqrs.EventProcessorGenerateSubscribeTopicParams) (string, error) { return "in", nil },
		SubscriberConstructor: func(cqrs.EventProcessorSubscriberConstructorParams) (message.Subscriber, error) {
			return source, nil
		},
		Marshaler: cqrs.JSONMarshaler{GenerateName: cqrs.StructName},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := processor.AddHandlers(cqrs.NewEventHandler("copy", f)); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- router.Run(context.Background()) }()
	t.Cleanup(func() {
		if err := errors.Join(router.Close(), <-ended); err != nil {
			t.Errorf("router: %v", err)
		}
	})
	<-router.Running()
}

// INVARIANTS 14: bytes, metadata, id and topic come out of the outbox as they went in,
// whatever they are.
func TestPublisherKeepsMessages(t *testing.T) {
	onEach(t, func(t *testing.T, st database, _ *outbox.Outbox) {
		p := outbox.NewPublisher(st.Outbox(), outbox.PublisherOptions{
			OrderKey: func(topic string, m *message.Message) string { return topic + m.Metadata[""] },
		})
		parent := "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
		topic := `a"; DROP TABLE x -- ` + strings.Repeat("ä", 60)
		m := message.NewMessage(strings.Repeat("u", 300), []byte("\x00\xff{not json"))
		m.Metadata = message.Metadata{"k": "\xff\x00v", "": "empty", "traceparent": parent}
		bare := message.NewMessage("", nil)
		tx := begin(t, st)
		for _, m := range []*message.Message{m, bare} {
			m.SetContext(outbox.WithTx(t.Context(), tx))
		}
		if err := p.Publish(topic, m); err != nil {
			t.Fatal(err)
		}
		if err := p.Publish("bare", bare); err != nil {
			t.Fatal(err)
		}
		commit(t, tx)
		m.Payload[0], m.Metadata["k"] = 'X', "changed"
		for _, e := range stored(t, st) {
			if e.Topic == "bare" {
				if e.ID == "" || len(e.Payload) != 0 || e.OrderKey != "bare" {
					t.Errorf("a message without anything: %+v", e)
				}
				continue
			}
			if e.Topic != topic || e.OrderKey != topic+"empty" || e.ID != strings.Repeat("u", 300) || !bytes.Equal(e.Payload, []byte("\x00\xff{not json")) || e.Trace.Parent != parent {
				t.Errorf("stored %+v", e)
			}
			if diff := cmp.Diff(map[string]string{"k": "\xff\x00v", "": "empty", "traceparent": parent}, e.Metadata); diff != "" {
				t.Errorf("metadata: %s", diff)
			}
		}
	})
}

// Messages of a Local publisher wait for a local handler, and not for a relay.
func TestPublisherOfLocalMessages(t *testing.T) {
	onEach(t, func(t *testing.T, st database, _ *outbox.Outbox) {
		p := outbox.NewPublisher(st.Outbox(), outbox.PublisherOptions{Local: true})
		tx := begin(t, st)
		m := message.NewMessage("m", []byte("{}"))
		m.SetContext(outbox.WithTx(t.Context(), tx))
		if err := p.Publish("orders", m); err != nil {
			t.Fatal(err)
		}
		commit(t, tx)
		lines, err := st.Outbox().List(t.Context(), "")
		if err != nil || len(lines) != 1 || lines[0].Outbox != outbox.Unclaimed || lines[0].Ready != 1 {
			t.Errorf("lines: %+v, %v", lines, err)
		}
	})
}

// A message without a transaction would be committed alone: the whole call is refused
// and nothing is written. No messages are no error (TRAPS, watermill-sql: there it
// aborts the transaction).
func TestPublisherNeedsATransaction(t *testing.T) {
	onEach(t, func(t *testing.T, st database, _ *outbox.Outbox) {
		p := outbox.NewPublisher(st.Outbox(), outbox.PublisherOptions{})
		if err := p.Publish("t"); err != nil {
			t.Errorf("no messages: %v", err)
		}
		tx := begin(t, st)
		defer func() { _ = tx.Rollback() }()
		good := message.NewMessage("1", []byte("x"))
		good.SetContext(outbox.WithTx(t.Context(), tx))
		for name, ctx := range map[string]context.Context{
			"none": t.Context(), "nil": outbox.WithTx(t.Context(), (*sql.Tx)(nil)), "pool": outbox.WithTx(t.Context(), st.DB()),
			"nil Tx": outbox.WithTx(t.Context(), (*headrace.Tx)(nil)),
		} {
			bad := message.NewMessage("2", []byte("x"))
			bad.SetContext(ctx)
			if err := p.Publish("t", good, bad); !errors.Is(err, outbox.ErrNoTransaction) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := p.Publish("", good); !errors.Is(err, headrace.ErrInvalidEvent) {
			t.Errorf("no topic: %v", err)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if err := p.Publish("t", good); err != nil {
			t.Errorf("after Close: %v", err)
		}
		commit(t, tx)
		if n := count(t, st); n != 1 {
			t.Errorf("%d rows, want the last one", n)
		}
	})
}

// Messages of one call go to the transaction that each of them carries. SQLite has
// one writer, so the other one there is a handler's, which writes at its commit.
func TestPublisherDividesByTransaction(t *testing.T) {
	onEach(t, func(t *testing.T, st database, _ *outbox.Outbox) {
		p := outbox.NewPublisher(st.Outbox(), outbox.PublisherOptions{})
		under, err := st.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer under.Rollback()
		handlers := headrace.NewTx(under, headrace.TxOptions{})
		own := under.SQL()
		var ms []*message.Message
		for i, ctx := range []context.Context{
			headrace.WithTx(t.Context(), handlers), outbox.WithTx(t.Context(), own),
			outbox.WithTx(headrace.WithTx(t.Context(), handlers), own), headrace.WithTx(t.Context(), handlers),
		} {
			m := message.NewMessage(string(rune('a'+i)), []byte("x"))
			m.SetContext(ctx)
			ms = append(ms, m)
		}
		if err := p.Publish("t", ms...); err != nil {
			t.Fatal(err)
		}
		kept := handlers.Events()
		if len(kept) != 2 || kept[0].ID != "a" || kept[1].ID != "d" {
			t.Errorf("the handler's transaction has %+v", kept)
		}
		if err := st.Commit(t.Context(), under, nil); err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, e := range stored(t, st) {
			ids = append(ids, e.ID)
		}
		if diff := cmp.Diff([]string{"b", "c"}, ids); diff != "" {
			t.Errorf("the caller's transaction has: %s", diff)
		}
	})
}
