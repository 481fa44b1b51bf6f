package story

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"

	"github.com/headrace/headrace/internal/migrate"
)

// metrics serves what headrace tells OpenTelemetry as Prometheus reads it. headrace itself knows the API only: the
// SDK and the exporter are the program's choice. nil serves nothing.
type metrics struct {
	url      string
	provider *sdk.MeterProvider
	server   *http.Server
	ended    chan error
}

// checkAddress says what is wrong with the address of -metrics.
func checkAddress(addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("-metrics %q is no address; give host:port, as in 127.0.0.1:9464", addr)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("-metrics %q: the port is not in 0..65535; 0 takes a free one", addr)
	}
	return nil
}

// serveMetrics listens on addr and says so on stderr. An empty addr serves nothing. The caller closes it.
func serveMetrics(ctx context.Context, addr string, stderr io.Writer) (*metrics, error) {
	if addr == "" {
		return nil, nil
	}
	registry := prometheus.NewRegistry()
	reader, err := exporter.New(exporter.WithRegisterer(registry))
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("metrics: -metrics %s: %w", addr, err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4}))
	m := &metrics{
		url:      "http://" + listener.Addr().String() + "/metrics",
		provider: sdk.NewMeterProvider(sdk.WithReader(reader)),
		server:   &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 30 * time.Second},
		ended:    make(chan error, 1),
	}
	go func() { m.ended <- m.server.Serve(listener) }() // received from by close
	fmt.Fprintf(stderr, "orders: metrics at %s\n", m.url)
	return m, nil
}

// meter is what the consumer records with; nil lets it take the default, which records nothing here.
func (m *metrics) meter() metric.MeterProvider {
	if m == nil {
		return nil
	}
	return m.provider
}

// close lets readers finish, and ends the server.
func (m *metrics) close() error {
	if m == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := m.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, m.server.Close())
	}
	if served := <-m.ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	if err := errors.Join(err, m.provider.Shutdown(ctx)); err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	return nil
}

// hold keeps the consumer running when all is settled, until the user has seen enough.
// file is its SQLite file, if it has a name to open it by.
func hold(ctx context.Context, ended <-chan error, file string, stderr io.Writer) (consumerEnded bool, err error) {
	fmt.Fprintln(stderr, "orders: everything is settled; Ctrl-C ends it and prints the figures")
	if file != "" {
		fmt.Fprintf(stderr, "orders: look at it in another terminal: HEADRACE_DSN=%s go run ./cmd/headrace ui\n", migrate.Quote("sqlite:"+file))
	}
	select {
	case <-ctx.Done():
		return false, nil
	case err := <-ended:
		return true, err
	}
}
