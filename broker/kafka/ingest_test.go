package kafka_test

import (
	"context"
	"encoding/binary"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/from"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/sqlite"
)

// springRecord is a record as Spring Kafka's DeadLetterPublishingRecoverer writes it for a message
// that failed in group.
func springRecord(topic, dead, group string, offset uint64, value string) *kgo.Record {
	header := func(name string, value []byte) kgo.RecordHeader {
		return kgo.RecordHeader{Key: "kafka_dlt-" + name, Value: value}
	}
	return &kgo.Record{Topic: dead, Key: []byte("customer"), Value: []byte(value), Headers: []kgo.RecordHeader{
		header("original-topic", []byte(topic)),
		header("original-partition", binary.BigEndian.AppendUint32(nil, 0)),
		header("original-offset", binary.BigEndian.AppendUint64(nil, offset)),
		header("original-consumer-group", []byte(group)),
		header("exception-fqcn", []byte("org.springframework.kafka.listener.ListenerExecutionFailedException")),
		header("exception-cause-fqcn", []byte("java.lang.IllegalStateException")),
		header("exception-message", []byte("Listener failed; no stock")),
		header("exception-stacktrace", []byte("java.lang.IllegalStateException: no stock\n\tat shop.Billing.pay(Billing.java:17)")),
	}}
}

// The messages of our group become dead letters unless they were applied; those of others that
// share the topic are passed over.
//
//evidence:ingest
func TestIngest(t *testing.T) {
	b := setup(t, 1)
	dead := b.topic + "-dlt"
	if err := b.create(t.Context(), dead, 1); err != nil {
		t.Fatal(err)
	}
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), sqlite.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	b.springs(dead)
	type order struct{ ID string }
	var applied []string
	source := b.source(nil)
	c, err := consumer.New("billing", st, consumer.Config{Source: source, Key: inbox.JSON("id"), Concurrency: 1, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	consumer.Handle(c, b.topic, func(_ context.Context, _ *headrace.Tx, m *headrace.Message[order]) error {
		applied = append(applied, m.Body.ID)
		return nil
	}, consumer.Ingest(dead, source, from.SpringKafka("billing")))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	b.until("all are acknowledged", func() bool {
		left, err := b.Left(t.Context(), dead)
		return err == nil && left == 0
	})
	if s := c.Stats(); s.Dead != 1 || s.Duplicates != 1 || s.Delivered != 2 {
		t.Errorf("%+v", s)
	}
	admin := redrive.New(st)
	letters, err := admin.List(t.Context(), dlq.Filter{AnyState: true}, 0, 10)
	if err != nil || len(letters) != 1 {
		t.Fatalf("%+v, %v", letters, err)
	}
	want := "java.lang.IllegalStateException: Listener failed; no stock (given up by Spring Kafka, from " + b.topic + ", partition 0, offset 7)"
	if l := letters[0]; l.Class != dlq.Ingested || l.Delivery.Key != "lost" || l.Delivery.OrderKey != "customer" || !strings.HasPrefix(l.Error, want) {
		t.Errorf("the letter is %+v", l)
	}
	whole, err := admin.Show(t.Context(), letters[0].LetterID)
	if err != nil || whole.Letter.Delivery.Metadata["kafka_dlt-original-offset"] != "\x00\x00\x00\x00\x00\x00\x00\x07" {
		t.Errorf("its headers are %q, %v", whole.Letter.Delivery.Metadata, err)
	}
	if _, err := admin.Redrive(t.Context(), redrive.Request{Filter: dlq.Filter{Key: "lost"}, By: "ann", Reason: "test"}); err != nil {
		t.Fatal(err)
	}
	b.until("the letter is applied", func() bool { return c.Stats().BacklogApplied == 1 })
	cancel()
	if err := <-ended; err != nil || !slices.Equal(applied, []string{"lost"}) {
		t.Errorf("applied %v; Run: %v", applied, err)
	}
	report, err := st.Check(t.Context())
	if err != nil || slices.ContainsFunc(report.Rules, func(r store.RuleResult) bool { return r.Violations > 0 }) {
		t.Errorf("check: %+v, %v", report, err)
	}
}

// springs are what Spring's recoverer has written into dead for two groups and two topics.
func (b *bundle) springs(dead string) {
	b.Helper()
	err := b.client(func(c *kgo.Client) error {
		return c.ProduceSync(b.Context(),
			springRecord(b.topic, dead, "billing", 7, `{"id":"lost"}`),
			springRecord(b.topic, dead, "shipping", 7, `{"id":"lost"}`),
			springRecord("another", dead, "billing", 1, `{"id":"another"}`),
			springRecord(b.topic, dead, "billing", 7, `{"id":"lost"}`), // written twice, as after a crash of Spring's
		).FirstErr()
	})
	if err != nil {
		b.Fatal(err)
	}
}

// until waits for what only the broker or the consumer knows, and does not tell.
func (b *bundle) until(what string, f func() bool) {
	b.Helper()
	for end := time.Now().Add(waitTimeout); !f(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			b.Fatalf("in vain: %s", what)
		}
	}
}
