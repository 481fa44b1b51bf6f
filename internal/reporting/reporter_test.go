package reporting

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/internal/breaker"
	"github.com/headrace/headrace/internal/pause"
	"github.com/headrace/headrace/internal/subscription"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/internal/watching"
	"github.com/headrace/headrace/store/sqlite"
)

// call is a call of a handler with one message.
type call struct{ h *task.Handler }

func (c call) Of() (*task.Handler, int) { return c.h, 1 }
func (call) Returned()                  {}

// A handler that does not return is a condition until it does, an endpoint that refuses all until it accepts a
// request, and the database's absence an alert without one.
//
//evidence:alert
func TestReporter(t *testing.T) {
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), sqlite.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	told := make(chan alerts.Alert, 10)
	hook := alerts.Hook(func(_ context.Context, a alerts.Alert) error { told <- a; return nil })
	left := &task.LeftBehind{}
	r := New(Options{
		Watch: watching.Options{
			Store: st, Consumer: "c", Owner: "p", Environment: "prod", Build: "v1", Logger: slog.New(slog.DiscardHandler),
			Alerts: alerts.Options{Sinks: []alerts.Sink{hook}, Quiet: time.Second, URL: "https://ops.example"},
		},
		Breaker: breaker.New(nil), Pause: pause.New(st.Operations().Pauses, "c"), Subscriptions: &subscription.Set{}, Left: left, Grace: time.Second,
	})
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { r.Watch.Run(ctx); close(ended) }()
	next := func(kind alerts.Kind, phase alerts.Phase) alerts.Alert {
		t.Helper()
		select {
		case a := <-told:
			if a.Kind != kind || a.Phase != phase || a.Environment != "prod" || a.Build != "v1" || a.Command == "" {
				t.Fatalf("%+v, want %s %s", a, kind, phase)
			}
			return a
		case <-time.After(30 * time.Second):
			t.Fatalf("no alert %s %s", kind, phase)
			panic("not reached")
		}
	}
	h := &task.Handler{Name: "h", Topic: "t"}
	left.Add(call{h}, 1)
	r.Stuck(h)
	first := next(alerts.HandlerStuck, alerts.Firing)
	left.Add(call{h}, -1)
	r.Returned(h)
	if last := next(alerts.HandlerStuck, alerts.Resolved); last.Key != first.Key || last.Handler != "h" || last.Severity != alerts.Error {
		t.Errorf("%+v", last)
	}
	refusal(t, r, next)
	r.o.Breaker.Fail(errors.New("gone"))
	r.Pausing("it is back")
	if a := next(alerts.Paused, ""); a.Severity != alerts.Critical || a.Database != "test.db" || len(a.Links) == 0 {
		t.Errorf("%+v", a)
	}
	end()
	<-ended
	r.o.Breaker.OK()
	r.Pausing("it is back")
	if err := r.Close(time.Minute); err != nil { // it sends what waits
		t.Error(err)
	}
	next(alerts.Resumed, "")
}

// refusal has an endpoint refuse all, and accept a request.
func refusal(t *testing.T, r *Reporter, next func(alerts.Kind, alerts.Phase) alerts.Alert) {
	t.Helper()
	r.Refusal("stripe", errors.New("the secret does not fit"))
	first := next(alerts.WebhookRefused, alerts.Firing)
	r.Refusal("stripe", nil)
	if last := next(alerts.WebhookRefused, alerts.Resolved); last.Key != first.Key || last.Topic != "stripe" || last.Severity != alerts.Error {
		t.Errorf("%+v", last)
	}
}
