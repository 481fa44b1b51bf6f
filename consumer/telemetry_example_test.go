package consumer_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/store/sqlite"
)

// A program that has OpenTelemetry's SDK gives its providers; one that sets the global
// ones needs nothing. The trace that came with a message goes on in its handler, and in
// what the handler publishes.
func ExampleConfig_telemetry() {
	ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
	defer stop()
	dir, err := os.MkdirTemp("", "headrace")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	st, err := sqlite.Open(ctx, filepath.Join(dir, "orders.db"), sqlite.Options{Migrate: true})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	broker := gochannel.NewGoChannel(gochannel.Config{Persistent: true}, watermill.NopLogger{})

	spans, reader := tracetest.NewInMemoryExporter(), metric.NewManualReader() // in a program: OTLP, Prometheus, …
	c, err := consumer.New("billing", st, consumer.Config{
		Source: broker, Sink: broker,
		TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)),
		MeterProvider:  metric.NewMeterProvider(metric.WithReader(reader)),
	})
	if err != nil {
		log.Fatal(err)
	}
	consumer.Handle(c, "orders.paid", func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[Order]) error {
		return tx.Publish(headrace.Event{Topic: "invoices.created", Value: m.Body}) // ctx holds the span
	})
	created, err := broker.Subscribe(ctx, "invoices.created")
	if err != nil {
		log.Fatal(err)
	}
	m := message.NewMessage("1", []byte(`{"id": "10492", "total": 4200}`))
	m.Metadata.Set("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	if err := broker.Publish("orders.paid", m); err != nil {
		log.Fatal(err)
	}

	running, stopRunning := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- c.Run(running) }()
	invoice := <-created
	invoice.Ack()
	stopRunning()
	if err := <-ended; err != nil {
		log.Fatal(err)
	}

	fmt.Println("the invoice is in the trace", invoice.Metadata.Get("traceparent")[3:35])
	show(ctx, spans, reader)
	// Unordered output:
	// the invoice is in the trace 0af7651916cd43dd8448eb211c80319c
	// client receive orders.paid
	// consumer process orders.paid
	// producer send invoices.created
	// headrace.messages.processed headrace.consumer=billing,headrace.handler=orders.paid,headrace.outcome=applied 1
}

// show prints what was recorded.
func show(ctx context.Context, spans *tracetest.InMemoryExporter, reader *metric.ManualReader) {
	for _, s := range spans.GetSpans() {
		if s.SpanContext.TraceID().String() == "0af7651916cd43dd8448eb211c80319c" {
			fmt.Println(s.SpanKind, s.Name)
		}
	}
	var all metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &all); err != nil {
		log.Fatal(err)
	}
	for _, metric := range all.ScopeMetrics[0].Metrics {
		sum, ok := metric.Data.(metricdata.Sum[int64])
		if !ok || metric.Name != "headrace.messages.processed" {
			continue
		}
		for _, p := range sum.DataPoints {
			if p.Value > 0 { // every outcome is counted from 0 on
				fmt.Println(metric.Name, p.Attributes.Encoded(attribute.DefaultEncoder()), p.Value)
			}
		}
	}
}
