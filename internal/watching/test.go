package watching

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/alerting"
)

// TestKind is the kind of a request that tries the sinks.
const TestKind = "alert"

// Tested is what a sink said to a test; "" is that it took the alert.
type Tested struct {
	Sink     string `json:"sink"`
	Firing   string `json:"firing"`
	Resolved string `json:"resolved"`
}

// Test sends an alert that fires, and one that is resolved, to each sink, and returns what they
// said. It is an instance.Action.
func (w *Watch) Test(ctx context.Context, _ instance.Request) (any, error) {
	answers := []Tested{}
	for _, name := range slices.Sorted(maps.Keys(w.o.Callers)) {
		answer := Tested{Sink: name}
		a := alerts.Alert{
			Kind: "test", Severity: alerts.Warning, Consumer: w.o.Consumer, Environment: w.o.Environment, Build: w.o.Build, Topic: uuid.NewString(),
			Title: "a test of the alerts of " + w.o.Consumer, Count: 1, Since: time.Now(), Command: "headrace alert ls",
		}
		a.Text = a.Title + ": nothing is wrong."
		a.Key = w.origin.Key(a)
		for _, phase := range []alerts.Phase{alerts.Firing, alerts.Resolved} {
			a.Phase, a.ID, a.At = phase, a.Key[:24]+"-"+string(phase), time.Now()
			said := alerting.Reason(w.o.Callers[name].Call(ctx, a))
			if answer.Resolved = said; phase == alerts.Firing {
				answer.Firing = said
			}
		}
		answers = append(answers, answer)
	}
	return answers, nil
}
