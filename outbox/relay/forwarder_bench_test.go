package relay_test

import (
	"context"
	"testing"
	"time"

	watermillsql "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/components/forwarder"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/internal/pgtest"
)

// BenchmarkForwarder is what BenchmarkBacklog is compared with: Watermill's
// forwarder on the same backlog, from its own table, as it is set up by default.
func BenchmarkForwarder(b *testing.B) {
	const rows = 20_000
	for range b.N {
		b.StopTimer()
		db := pgtest.Open(b)
		schema := watermillsql.DefaultPostgreSQLSchema{SubscribeBatchSize: 100}
		publisher, err := watermillsql.NewPublisher(db.DB, watermillsql.PublisherConfig{SchemaAdapter: schema, AutoInitializeSchema: true}, nil)
		if err != nil {
			b.Fatal(err)
		}
		wrapped := forwarder.NewPublisher(publisher, forwarder.PublisherConfig{ForwarderTopic: "forwarded"})
		payload := make([]byte, 300)
		for from := 0; from < rows; from += 1000 {
			msgs := make([]*message.Message, 1000)
			for i := range msgs {
				msgs[i] = message.NewMessage("00000000-0000-0000-0000-000000000000", payload)
				msgs[i].Metadata = message.Metadata{"name": "value", "other": "value"}
			}
			if err := wrapped.Publish("t", msgs...); err != nil {
				b.Fatal(err)
			}
		}
		subscriber, err := watermillsql.NewSubscriber(db.DB, watermillsql.SubscriberConfig{
			SchemaAdapter: schema, OffsetsAdapter: watermillsql.DefaultPostgreSQLOffsetsAdapter{}, InitializeSchema: true,
		}, nil)
		if err != nil {
			b.Fatal(err)
		}
		sink := &freeSink{}
		f, err := forwarder.NewForwarder(subscriber, sink, nil, forwarder.Config{ForwarderTopic: "forwarded"})
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		start := time.Now()
		done := make(chan error, 1)
		go func() { done <- f.Run(context.Background()) }()
		for sink.took.Load() < rows {
			time.Sleep(time.Millisecond)
		}
		b.ReportMetric(rows/time.Since(start).Seconds(), "rows/s")
		if err := f.Close(); err != nil {
			b.Error(err)
		}
		<-done
	}
}
