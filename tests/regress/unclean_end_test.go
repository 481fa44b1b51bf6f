package regress

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/internal/memsource"
	"github.com/headrace/headrace/internal/pgtest/pgstore"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/sqlite"
)

// childVariable holds the orders of a process that ends by SIGKILL.
const childVariable = "HEADRACE_REGRESS_CHILD"

// orders tell a child which database to consume on.
type orders struct {
	Driver, DSN, Schema string
	// Messages are what its broker delivers; it is killed in the middle of the last.
	Messages int
}

func (o orders) open() (store.Store, error) {
	switch o.Driver {
	case onFile:
		return sqlite.Open(context.Background(), o.DSN, sqlite.Options{Migrate: true})
	default: // the driver of the killed process makes no difference
		return postgres.Open(context.Background(), o.DSN, postgres.Options{Schema: o.Schema, Migrate: true})
	}
}

// child consumes until it kills itself. It never returns.
func child() {
	var o orders
	err := json.Unmarshal([]byte(os.Getenv(childVariable)), &o)
	if err == nil {
		err = o.run()
	}
	fmt.Fprintln(os.Stderr, "not killed:", err)
	os.Exit(1)
}

func (o orders) run() error {
	st, err := o.open()
	if err != nil {
		return err
	}
	src := memsource.New()
	c, err := consumer.New(name, st, consumer.Config{Source: src, Retry: attempts(1), Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		return err
	}
	last := fmt.Sprint("before", o.Messages-1)
	consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
		if m.ID == last {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		return insert(ctx, tx, m)
	})
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	go func() {
		for _, id := range series("before", o.Messages) {
			m := src.Deliver(topic, id, []byte(`{}`), nil)
			if id != last { // the last comes when all others are applied
				_, _ = memsource.Outcome(ctx, m)
			}
		}
	}()
	return c.Run(ctx)
}

// runKilled runs a child that ends by SIGKILL.
func runKilled(f *fixture, o orders) {
	f.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		f.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		f.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^$")
	cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		f.Fatalf("the child ended with %v: %s", err, out)
	}
}

// onEachDatabase is onEachStore for tests with other processes.
func onEachDatabase(t *testing.T, f func(fx *fixture, o orders)) {
	for _, driver := range drivers(t) {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			dsn, schema := pgstore.New(t)
			f(newPostgres(t, driver, dsn, schema), orders{Driver: driver, DSN: dsn, Schema: schema})
		})
	}
	t.Run(onFile, func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "test.db")
		f(newSQLiteAt(t, path), orders{Driver: onFile, DSN: path})
	})
}

// A process that starts after another was killed works on as many messages at once as any
// other: at most the message that may have killed that one runs alone.
//
// Without that it handled one message at a time, with three commits for each, for up to
// ten minutes.
//
//evidence:after-kill
func TestProcessAfterAKillIsNotSlow(t *testing.T) {
	onEachDatabase(t, func(f *fixture, o orders) {
		o.Messages = 50
		const n = 2000
		suspect := fmt.Sprint("before", o.Messages-1)
		usual := transactions(f, series("usual", n))
		runKilled(f, o)
		got := transactions(f, append([]string{suspect}, series("m", n)...))
		f.Logf("%d messages take %d transactions, and %d after a kill", n, usual, got)
		if most := 3*usual + 100; got > most {
			f.Errorf("%d messages took %d transactions after a kill, want at most %d", n, got, most)
		}
		if got := f.count("SELECT count(DISTINCT msg) FROM effects"); got != o.Messages+2*n || f.count("SELECT count(*) FROM effects") != got {
			f.Errorf("%d effects of %d messages, want %d", f.count("SELECT count(*) FROM effects"), got, o.Messages+2*n)
		}
		f.noLetters()
	})
}

// transactions has a process handle messages, and returns in how many transactions their
// handlers ran.
func transactions(f *fixture, ids []string) uint64 {
	f.Helper()
	reader := metric.NewManualReader()
	config := f.config()
	config.Source, config.BatchTime = memsource.New(), 0 // the default
	config.MeterProvider = metric.NewMeterProvider(metric.WithReader(reader))
	c := f.consumer(f.st, config)
	consumer.Handle(c, topic, insert)
	var all []*message.Message
	for _, id := range ids {
		all = append(all, config.Source.(*memsource.Source).Deliver(topic, id, []byte(`{}`), nil))
	}
	p := f.start(c)
	f.acked(all...)
	if err := p.halt(); err != nil {
		f.Fatal(err)
	}
	var got metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &got); err != nil {
		f.Fatal(err)
	}
	var n uint64
	for _, scope := range got.ScopeMetrics {
		for _, m := range scope.Metrics {
			if sizes, ok := m.Data.(metricdata.Histogram[int64]); ok && m.Name == "headrace.batch.size" {
				for _, p := range sizes.DataPoints {
					n += p.Count
				}
			}
		}
	}
	if n == 0 {
		f.Fatal("no transaction was counted")
	}
	return n
}
