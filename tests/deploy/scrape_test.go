package deploy_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"
	"github.com/prometheus/client_golang/prometheus"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/store/sqlite"
)

// scrape is what Prometheus reads of a process: the values of the labels of each metric.
type scrape map[string]map[string]map[string]bool

func (s scrape) add(name string, labels map[string]string) {
	if s[name] == nil {
		s[name] = make(map[string]map[string]bool)
	}
	for label, value := range labels {
		if s[name][label] == nil {
			s[name][label] = make(map[string]bool)
		}
		s[name][label][value] = true
	}
}

// scraped runs a consumer with a relay, which handles one message, and scrapes it until
// its maintenance has run.
func scraped(t *testing.T) scrape {
	t.Helper()
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), sqlite.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	registry := prometheus.NewRegistry()
	reader, err := exporter.New(exporter.WithRegisterer(registry))
	if err != nil {
		t.Fatal(err)
	}
	source := gochannel.NewGoChannel(gochannel.Config{Persistent: true}, watermill.NopLogger{})
	defer source.Close()
	c, err := consumer.New("billing", st, consumer.Config{Source: source, Sink: source, MeterProvider: metric.NewMeterProvider(metric.WithReader(reader))})
	if err != nil {
		t.Fatal(err)
	}
	handled := make(chan struct{})
	consumer.Handle(c, "orders", func(context.Context, *headrace.Tx, *headrace.Message[string]) error { close(handled); return nil })
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	if err := source.Publish("orders", message.NewMessage("1", []byte(`"a"`))); err != nil {
		t.Fatal(err)
	}
	<-handled
	s := make(scrape)
	for ready := false; !ready && t.Context().Err() == nil; {
		time.Sleep(20 * time.Millisecond) // the exporter has no signal
		s = read(t, registry)
		ready = s["headrace_maintenance_last_run_seconds"]["headrace_task"]["count"] && s["messaging_process_duration_seconds_bucket"] != nil
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	return s
}

func read(t *testing.T, registry *prometheus.Registry) scrape {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	s := make(scrape)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			labels := make(map[string]string)
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if name := family.GetName(); m.GetHistogram() == nil {
				s.add(name, labels)
			} else {
				s.add(name+"_sum", labels)
				s.add(name+"_count", labels)
				labels["le"] = "+Inf"
				s.add(name+"_bucket", labels)
			}
		}
	}
	return s
}
