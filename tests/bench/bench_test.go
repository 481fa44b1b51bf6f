package main

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/headrace/headrace/internal/pgtest"
)

func TestMain(m *testing.M) {
	if child := os.Getenv(childVariable); child != "" {
		os.Exit(childMain(context.Background(), child))
	}
	goleak.VerifyTestMain(m)
}

// testLab makes a lab on the tests' server.
func testLab(tb testing.TB) *lab {
	tb.Helper()
	l, err := newLab(tb.Context(), pgtest.NewDatabase(tb))
	if err != nil {
		tb.Fatal(err)
	}
	_, l.unsteady = tb.(*testing.T)
	tb.Cleanup(func() {
		if err := l.close(); err != nil {
			tb.Error(err)
		}
	})
	return l
}

// BenchmarkAll runs every benchmark of the command for b.N messages or rows.
func BenchmarkAll(b *testing.B) {
	l := testLab(b)
	for _, bench := range benchmarks() {
		b.Run(bench.name, func(b *testing.B) {
			l.started, l.ended = b.ResetTimer, b.StopTimer
			figure, err := l.measure(b.Context(), bench, amount{messages: b.N})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(figure.Rate, "msg/s")
			b.ReportMetric(figure.P50, "p50-ms")
			b.ReportMetric(figure.P99, "p99-ms")
		})
	}
}

// Every benchmark proves its own counts, so a short run of each is a test of the
// side that it measures: effects once (INVARIANTS 1), an event for each. The short form has
// fewer messages, and leaves out what is there once more with pgx, and what builds the command.
func TestEveryBenchmark(t *testing.T) {
	l := testLab(t)
	messages := 200
	if testing.Short() {
		messages = 20
	}
	for _, b := range benchmarks() {
		if testing.Short() && (strings.Contains(b.name, "_pgx") || b.name == "redrive_command" || b.name == "sqlite_rehearsed") {
			continue
		}
		t.Run(b.name, func(t *testing.T) {
			figure, err := l.measure(t.Context(), b, amount{messages: messages})
			if err != nil {
				t.Fatal(err)
			}
			if figure.Messages != messages || figure.Rate <= 0 {
				t.Errorf("figure %+v, want one of %d messages", figure, messages)
			}
		})
	}
}

func TestMeasureForATime(t *testing.T) {
	l := testLab(t)
	figure, err := l.measure(t.Context(), singlePart(libPQ)[0], amount{time: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if figure.Messages == 0 || figure.Seconds < 0.2 {
		t.Errorf("figure %+v, want at least 0.2 s", figure)
	}
}

// A benchmark that loses or doubles an effect has no figure.
func TestVerifyNotices(t *testing.T) {
	l := testLab(t)
	invoice, take := l.query("invoice"), l.query("take")
	run := func(query string, args ...any) {
		t.Helper()
		if _, err := l.db.ExecContext(t.Context(), query, args...); err != nil {
			t.Fatal(err)
		}
	}
	run(take, "billing", "a")
	run(invoice, "a", "EUR", 1)
	if err := l.verify(t.Context(), "count_by_hand", 1); err == nil {
		t.Error("a missing event was not noticed")
	}
	if _, err := l.measure(t.Context(), byhandPart(libPQ)[2], amount{messages: 10}); err != nil {
		t.Fatal(err)
	}
	const all = 14 // with the warm-up
	if err := l.verify(t.Context(), "count_by_hand", all); err != nil {
		t.Error(err)
	}
	run(invoice, uuid(0), "EUR", 1)
	if err := l.verify(t.Context(), "count_by_hand", all); err == nil {
		t.Error("an effect that was applied twice was not noticed")
	}
}

func TestCancelled(t *testing.T) {
	l := testLab(t)
	ctx, cancel := context.WithCancel(t.Context())
	l.started = cancel
	if _, err := l.measure(ctx, singlePart(libPQ)[0], amount{time: 2 * time.Second}); err == nil {
		t.Error("a run that was cut short has a figure")
	}
}
