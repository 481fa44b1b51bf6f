package postgres_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/tests"

	"github.com/headrace/headrace/broker/postgres"
)

// TestWatermill runs Watermill's own suite: with many messages in flight, and with one at
// a time, whose order it then promises to a single subscriber: its GuaranteedOrder takes
// for granted that no second message comes before the first is acknowledged (TestNoAck).
// NewSubscriberReceivesOldMessages is not so: what a group has acknowledged is gone.
func TestWatermill(t *testing.T) {
	s := setup(t)
	for name, c := range map[string]struct {
		window   int
		features tests.Features
	}{
		"default": {0, tests.Features{ConsumerGroups: true, Persistent: true, ForceShort: true}},
		"ordered": {1, tests.Features{
			ConsumerGroups: true, Persistent: true, ForceShort: true, GuaranteedOrder: true, GuaranteedOrderWithSingleSubscriber: true,
		}},
	} {
		pubSub := func(t *testing.T, group string) (message.Publisher, message.Subscriber) {
			t.Helper()
			from, err := s.source("", group, c.window)
			if err != nil {
				t.Fatal(err)
			}
			to, err := s.Sink("")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = errors.Join(from.Close(), to.Close()) }) // the suite leaves one open
			return to, from
		}
		t.Run(name, func(t *testing.T) {
			tests.TestPubSub(t, c.features, func(t *testing.T) (message.Publisher, message.Subscriber) { return pubSub(t, group) }, pubSub)
		})
	}
}

// Guard: validate.
func TestOptionsAreRefused(t *testing.T) {
	db, err := server{"postgres://127.0.0.1:1/none"}.open("")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for name, o := range map[string]postgres.SourceOptions{
		"DB": {Group: "g"}, "Group": {DB: db}, "Window": {DB: db, Group: "g", Window: -1}, "Lease": {DB: db, Group: "g", Lease: 30},
		"NackDelay": {DB: db, Group: "g", NackDelay: 1}, "Poll": {DB: db, Group: "g", Poll: 5}, "CloseTimeout": {DB: db, Group: "g", CloseTimeout: 5},
	} {
		if _, err := postgres.NewSource(o); err == nil || !strings.Contains(err.Error(), "option "+name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TRAPS, watermill-sql: a transaction that is open anywhere in the cluster stalls every
// topic there. Here it holds up no other topic, and what it publishes comes when it commits. Guard:
// from.
//
//evidence:postgres-queue
func TestOpenTransactionHoldsUpNobody(t *testing.T) {
	s := setup(t)
	topic := "hr-open-" + time.Now().Format("150405.000000")
	if err := s.Create(t.Context(), topic); err != nil {
		t.Fatal(err)
	}
	db, err := s.open("")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(t.Context(), insert, topic, "late"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), insert, topic, "early"); err != nil {
		t.Fatal(err)
	}
	from, err := s.Source("")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = from.Close() }()
	messages, err := from.Subscribe(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"early", "late"} {
		select {
		case m := <-messages:
			if string(m.Payload) != want {
				t.Errorf("%q came, want %q", m.Payload, want)
			}
			m.Ack()
		case <-time.After(30 * time.Second):
			t.Fatalf("%q does not come", want)
		}
		if want == "early" {
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TRAPS, watermill-sql's Publisher: no messages, long ids, bytes that are no JSON, topics
// that agree in 53 bytes. And a topic without a group is an error. Guards: Publish,
// ErrNoGroup.
func TestPublish(t *testing.T) {
	s := setup(t)
	to, err := s.Sink("")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = to.Close() }()
	topic := strings.Repeat("x", 60) + time.Now().Format("150405.000000")
	if err := s.Create(t.Context(), topic); err != nil {
		t.Fatal(err)
	}
	if err := to.Publish(topic); err != nil {
		t.Errorf("no messages: %v", err)
	}
	if err := to.Publish(topic, message.NewMessage(strings.Repeat("i", 100), []byte("\x00\xff"))); err != nil {
		t.Error(err)
	}
	if err := to.Publish(topic+"y", message.NewMessage("1", nil)); !errors.Is(err, postgres.ErrNoGroup) {
		t.Errorf("a topic that shares its first 53 bytes: %v", err)
	}
}
