package postgres_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	watermillsql "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/postgres"
)

// publisher returns watermill-sql's Publisher into the outbox, and its transaction.
func (b *bundle) publisher(options outbox.PublisherOptions) (*watermillsql.Publisher, *sql.Tx) {
	b.Helper()
	tx, err := b.DB().BeginTx(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = tx.Rollback() })
	p, err := watermillsql.NewPublisher(tx, watermillsql.PublisherConfig{SchemaAdapter: b.OutboxSchema(options)}, watermill.NopLogger{})
	if err != nil {
		b.Fatal(err)
	}
	return p, tx
}

// outboxEvents returns what stands in the outbox, by id.
func (b *bundle) outboxEvents() map[string]outbox.Row {
	b.Helper()
	t := b.begin()
	defer t.Rollback()
	events := make(map[string]outbox.Row)
	for shard := range outbox.Shards {
		rows, err := b.Outbox().Read(b.Context(), t, shard, 0, 100)
		if err != nil {
			b.Fatal(err)
		}
		for _, row := range rows {
			events[row.Event.ID] = row
		}
	}
	return events
}

func (b *bundle) commit(tx *sql.Tx) {
	b.Helper()
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
}

// TRAPS, watermill-sql: zero messages are a syntax error there that aborts the
// caller's transaction; a UUID over 36 characters fails; a payload that is no JSON
// fails. None of them does here.
//
//evidence:watermill-sql
func TestWatermillPublisher(t *testing.T) {
	drivers(t, func(b *bundle) {
		p, tx := b.publisher(outbox.PublisherOptions{OrderKey: func(_ string, m *message.Message) string { return m.Metadata["order"] }})
		if err := p.Publish("orders"); err != nil {
			b.Errorf("no messages: %v", err)
		}
		long := message.NewMessage(strings.Repeat("u", 200), []byte("\x00\xff no json"))
		long.Metadata = message.Metadata{"order": "7", "traceparent": "00-a-b-01", "\xff": "\x00"}
		empty := message.NewMessage("empty", nil)
		if err := p.Publish("orders", long, empty); err != nil {
			b.Fatal(err)
		}
		if n := len(b.outboxEvents()); n != 0 {
			b.Errorf("%d rows before the commit", n)
		}
		b.commit(tx)
		events := b.outboxEvents()
		got := events[long.UUID]
		e := got.Event
		if !bytes.Equal(e.Payload, long.Payload) || e.Topic != "orders" || e.Metadata["\xff"] != "\x00" || e.OrderKey != "7" || e.Trace.Parent != "00-a-b-01" {
			b.Errorf("stored %+v", e)
		}
		if want := outbox.RowOf(e).Shard; got.Shard != want {
			b.Errorf("on shard %d, and other writers put its order on %d", got.Shard, want)
		}
		if row, found := events["empty"]; !found || len(row.Event.Payload) != 0 {
			b.Errorf("the empty one: %+v", row)
		}
	})
}

// Messages of a Local publisher wait for a local handler, and not for a relay.
func TestWatermillLocalMessages(t *testing.T) {
	drivers(t, func(b *bundle) {
		p, tx := b.publisher(outbox.PublisherOptions{Local: true})
		if err := p.Publish("orders", message.NewMessage("m", []byte("{}"))); err != nil {
			b.Fatal(err)
		}
		b.commit(tx)
		lines, err := b.Outbox().List(b.Context(), "")
		if err != nil || len(lines) != 1 || lines[0].Outbox != outbox.Unclaimed {
			b.Errorf("lines: %+v, %v", lines, err)
		}
	})
}

// TRAPS, watermill-sql: topics that agree in 53 bytes share a table there. An empty topic
// passes its check, and is refused by ours, with the transaction unharmed.
//
//evidence:watermill-sql
func TestWatermillTopics(t *testing.T) {
	drivers(t, func(b *bundle) {
		p, tx := b.publisher(outbox.PublisherOptions{})
		prefix := strings.Repeat("t", 60)
		for _, topic := range []string{prefix + "1", prefix + "2", "a-b", "a_b"} {
			if err := p.Publish(topic, message.NewMessage("in "+topic, []byte("x"))); err != nil {
				b.Fatal(err)
			}
		}
		if err := p.Publish("", message.NewMessage("none", nil)); !errors.Is(err, headrace.ErrInvalidEvent) {
			b.Errorf("an empty topic: %v", err)
		}
		if err := p.Publish("t", message.NewMessage("nul\x00", nil)); !errors.Is(err, headrace.ErrInvalidEvent) {
			b.Errorf("a UUID with a NUL: %v", err)
		}
		// Its own check comes first. The outbox takes such topics: see outbox.NewPublisher.
		if err := p.Publish("orders/paid", message.NewMessage("x", nil)); !errors.Is(err, watermillsql.ErrInvalidTopicName) {
			b.Errorf("a topic with a slash: %v", err)
		}
		b.commit(tx)
		events := b.outboxEvents()
		if len(events) != 4 {
			b.Errorf("%d events", len(events))
		}
		for id, row := range events {
			if id != "in "+row.Event.Topic {
				b.Errorf("%q went to %q", id, row.Event.Topic)
			}
		}
	})
}

// TRAPS, watermill-sql: it runs with context.Background(). What ends its statements is
// the context of the transaction, not that of a message; and a Publisher belongs to the
// transaction that it was made with.
//
//evidence:watermill-sql
func TestWatermillContextAndTransaction(t *testing.T) {
	drivers(t, func(b *bundle) {
		ended, cancel := context.WithCancel(b.Context())
		cancel()
		p, tx := b.publisher(outbox.PublisherOptions{})
		m := message.NewMessage("1", []byte("x"))
		m.SetContext(ended)
		if err := p.Publish("t", m); err != nil {
			b.Errorf("the end of a message's context ended the statement: %v", err)
		}
		b.commit(tx)
		if err := p.Publish("t", message.NewMessage("2", []byte("x"))); !errors.Is(err, sql.ErrTxDone) {
			b.Errorf("after the commit: %v", err)
		}
		ctx, cancel := context.WithCancel(b.Context())
		bounded, err := b.DB().BeginTx(ctx, nil)
		if err != nil {
			b.Fatal(err)
		}
		p, err = watermillsql.NewPublisher(bounded, watermillsql.PublisherConfig{SchemaAdapter: b.OutboxSchema(outbox.PublisherOptions{})}, nil)
		if err != nil {
			b.Fatal(err)
		}
		cancel()
		if err := p.Publish("t", message.NewMessage("3", []byte("x"))); err == nil {
			if err = bounded.Commit(); err == nil {
				b.Error("the transaction outlived its context")
			}
		}
		if events := b.outboxEvents(); len(events) != 1 {
			b.Errorf("the outbox holds %+v", events)
		}
	})
}

// TRAPS, watermill-sql: AutoInitializeSchema is refused with a transaction, and with a
// pool there is nothing that it could do.
func TestWatermillInitializesNothing(t *testing.T) {
	b := setup(t, "open", "", postgres.Options{})
	_, tx := b.publisher(outbox.PublisherOptions{})
	schema := b.OutboxSchema(outbox.PublisherOptions{})
	auto := watermillsql.PublisherConfig{SchemaAdapter: schema, AutoInitializeSchema: true}
	if _, err := watermillsql.NewPublisher(tx, auto, nil); err == nil {
		t.Error("AutoInitializeSchema was taken with a transaction")
	}
	if queries := schema.SchemaInitializingQueries("t"); len(queries) != 0 {
		t.Errorf("it would run %v", queries)
	}
	if _, err := (postgres.OutboxSchema{}).InsertQuery("t", nil); err == nil {
		t.Error("an empty OutboxSchema was taken")
	}
}

// heard passes on the errors that a Subscriber logs.
type heard struct {
	watermill.NopLogger
	errors chan error
}

func (h heard) Error(_ string, err error, _ watermill.LogFields) {
	select {
	case h.errors <- err:
	default:
	}
}

func (h heard) With(watermill.LogFields) watermill.LoggerAdapter { return h }

// An outbox has no subscribers: watermill-sql's Subscriber receives nothing and logs
// why.
func TestWatermillSubscriberIsRefused(t *testing.T) {
	b := setup(t, "open", "", postgres.Options{})
	p, tx := b.publisher(outbox.PublisherOptions{})
	if err := p.Publish("t", message.NewMessage("1", []byte("x"))); err != nil {
		t.Fatal(err)
	}
	b.commit(tx)
	h := heard{errors: make(chan error, 1)}
	s, err := watermillsql.NewSubscriber(b.db, watermillsql.SubscriberConfig{
		SchemaAdapter: b.OutboxSchema(outbox.PublisherOptions{}), OffsetsAdapter: watermillsql.DefaultPostgreSQLOffsetsAdapter{},
		InitializeSchema: true, PollInterval: 10 * time.Millisecond, RetryInterval: 10 * time.Millisecond,
	}, h)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	messages, err := s.Subscribe(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	for {
		select {
		case m := <-messages:
			t.Fatalf("received %s", m.UUID)
		case err := <-h.errors:
			if strings.Contains(err.Error(), "it has no subscribers") {
				return
			}
		case <-time.After(30 * time.Second):
			t.Fatal("no word of it")
		}
	}
}
