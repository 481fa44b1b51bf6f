package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	sdk "go.opentelemetry.io/otel/sdk/metric"

	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/internal/depths"
	"github.com/headrace/headrace/internal/telemetry"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/ui/login"
	"github.com/headrace/headrace/ui/who"
)

const (
	// metricsPath is where headrace ui --metrics serves the gauges of the database.
	metricsPath = "/metrics"
	// newEvery is the time between two looks for consumers and outboxes that are new.
	newEvery = 10 * time.Second
	// metricsTime bounds such a look, and the end of the queries.
	metricsTime = 5 * time.Second
)

// gauges are what consumers and outboxes would report of their tables, for Prometheus.
type gauges struct {
	st       openStore
	tel      *telemetry.Telemetry
	provider *sdk.MeterProvider
	page     http.Handler

	mu      sync.Mutex
	looked  time.Time
	watches map[string]*telemetry.Watch
}

func newGauges(st openStore) (*gauges, error) {
	registry := prometheus.NewRegistry()
	reader, err := exporter.New(exporter.WithRegisterer(registry), exporter.WithoutTargetInfo(), exporter.WithoutScopeInfo())
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	g := &gauges{
		st: st, provider: sdk.NewMeterProvider(sdk.WithReader(reader)), watches: make(map[string]*telemetry.Watch),
		page: promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4}),
	}
	if g.tel, err = telemetry.New(nil, g.provider); err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	return g, nil
}

// ServeHTTP serves the gauges, at most ten seconds old.
func (g *gauges) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := g.find(r.Context()); err != nil {
		http.Error(w, "the database does not answer", http.StatusServiceUnavailable)
		return
	}
	g.page.ServeHTTP(w, r)
}

// find watches consumers and outboxes that are new.
func (g *gauges) find(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if time.Since(g.looked) < newEvery {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, metricsTime)
	defer cancel()
	known, err := consumers(ctx, g.st, "")
	if err != nil {
		return err
	}
	boxes, err := g.st.Outbox().List(ctx, "")
	if err != nil {
		return err
	}
	failing, err := g.st.Operations().Groups.List(ctx, groups.Filter{})
	if err != nil {
		return err
	}
	var names []string
	for _, c := range known {
		names = append(names, c.Consumer)
	}
	for _, f := range failing {
		names = append(names, f.Consumer) // it may have had no process for long
	}
	for _, name := range names {
		if err := g.watch("headrace.consumer", name, g.consumer(name)); err != nil {
			return err
		}
	}
	for _, box := range boxes {
		if _, line := outbox.ConsumerOf(box.Outbox); line {
			continue // counted for the consumers
		}
		if err := g.watch("headrace.relay", box.Outbox, g.outbox(box.Outbox)); err != nil {
			return err
		}
	}
	g.looked = time.Now()
	return nil
}

func (g *gauges) watch(label, name string, ask func(context.Context) ([]telemetry.Value, error)) error {
	if g.watches[label+name] != nil {
		return nil
	}
	w, err := g.tel.Watch(label, name, nil, ask)
	if err == nil {
		g.watches[label+name] = w
	}
	return err
}

// consumer asks for the gauges of a consumer.
func (g *gauges) consumer(name string) func(context.Context) ([]telemetry.Value, error) {
	return func(ctx context.Context) ([]telemetry.Value, error) {
		values, err := depths.Reader{Store: g.st, Consumer: name, Local: true}.Read(ctx)
		if err != nil {
			return nil, err
		}
		p, err := g.st.Operations().Pauses.Get(ctx, name)
		return append(values, telemetry.Flag(telemetry.Paused, p.Lasts())), err
	}
}

// outbox asks for the gauges of an outbox.
func (g *gauges) outbox(name string) func(context.Context) ([]telemetry.Value, error) {
	return func(ctx context.Context) (values []telemetry.Value, err error) {
		list, err := g.st.Outbox().List(ctx, name)
		for _, s := range list {
			values = append(values, telemetry.OfOutbox(s)...)
		}
		return values, err
	}
}

// close ends the queries, before the database is closed.
func (g *gauges) close() {
	ctx, cancel := context.WithTimeout(context.Background(), metricsTime)
	defer cancel()
	for _, w := range g.watches {
		_ = w.Close(ctx) // a query that hangs ends with its connection
	}
	_ = g.provider.Shutdown(ctx) // nothing is sent
}

// withGauges serves the gauges beside the pages, and returns what ends it.
func withGauges(st openStore, way login.Way, pages http.Handler) (http.Handler, func(), error) {
	g, err := newGauges(st)
	if err != nil {
		return nil, nil, err
	}
	both := http.NewServeMux()
	both.Handle("GET "+metricsPath, guard(way, g))
	both.Handle("/", pages)
	return both, g.close, nil
}

// guard lets read the gauges who may look at the pages. Where a link for one use signs in, that is
// every program of this machine: Prometheus has no browser.
func guard(way login.Way, next http.Handler) http.Handler {
	if _, ok := way.(*login.Link); ok {
		return next
	}
	return way.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if person, err := way.Identify(r); err != nil || !person.Role.May(who.Viewer) {
			http.Error(w, "this needs the role viewer", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	}))
}
