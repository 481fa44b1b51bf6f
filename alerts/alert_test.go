package alerts_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/headrace/headrace/alerts"
)

// record returns a hook that appends name and the alert's text to calls.
func record(calls *[]string, name string) alerts.Hook {
	return func(_ context.Context, a alerts.Alert) { *calls = append(*calls, name+" "+a.Text) }
}

func TestMulti(t *testing.T) {
	var calls []string
	alerts.Multi(record(&calls, "a"), nil, record(&calls, "b"))(context.Background(), alerts.Alert{Text: "x"})
	if want := []string{"a x", "b x"}; !slices.Equal(calls, want) {
		t.Errorf("calls %q, want %q", calls, want)
	}
	alerts.Multi()(context.Background(), alerts.Alert{})
	alerts.Multi(nil)(context.Background(), alerts.Alert{})
}

// INVARIANT 19: a broken sink does not keep an alert from the others.
func TestMultiSurvivesPanic(t *testing.T) {
	var calls []string
	hook := alerts.Multi(func(context.Context, alerts.Alert) { panic("broken") }, record(&calls, "b"), record(&calls, "c"))
	func() {
		defer func() {
			if recover() != "broken" {
				t.Error("the panic was swallowed: nobody would log it")
			}
		}()
		hook(context.Background(), alerts.Alert{Text: "x"})
	}()
	if want := []string{"b x", "c x"}; !slices.Equal(calls, want) {
		t.Errorf("calls %q, want %q", calls, want)
	}
}

func TestLog(t *testing.T) {
	var out bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	log := alerts.Log(logger)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	log(context.Background(), alerts.Alert{Kind: alerts.HandlerStuck, Consumer: "billing", Handler: "orders.paid", Topic: "orders", Text: "look\nforged=1", At: at})
	log(context.Background(), alerts.Alert{Kind: alerts.Resumed, Text: "back"})
	want := `level=WARN msg="alert: look\nforged=1" kind=handler_stuck consumer=billing handler=orders.paid topic=orders at=2026-01-02T03:04:05.000Z` + "\n" +
		`level=INFO msg="alert: back" kind=resumed` + "\n"
	if out.String() != want {
		t.Errorf("log\n%s want\n%s", out.String(), want)
	}
}

func TestLogWithoutLogger(t *testing.T) {
	var out bytes.Buffer
	before := slog.Default()
	defer slog.SetDefault(before)
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))
	alerts.Log(nil)(context.Background(), alerts.Alert{Kind: alerts.Paused, Text: "x"})
	if !bytes.Contains(out.Bytes(), []byte("kind=paused")) {
		t.Errorf("log %q", out.String())
	}
}
