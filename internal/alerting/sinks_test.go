package alerting

import (
	"context"
	"testing"
	"text/template"
	"time"

	"github.com/headrace/headrace/alerts"
)

// again is a sink that forgets.
type again struct{ alerts.Hook }

func (again) Every() time.Duration { return time.Minute }

func (again) Wants(a alerts.Alert) bool { return a.Kind == alerts.Paused }

// What a sink is sent is in the words of the templates, and a sink that forgets says after how long,
// and one that does not send all says what.
func TestSinks(t *testing.T) {
	var got alerts.Alert
	o := alerts.Options{
		Sinks: []alerts.Sink{again{func(_ context.Context, a alerts.Alert) error { got = a; return nil }}},
		Texts: template.Must(template.New("").Parse(`{{define "title"}}{{.Kind}} of {{.Consumer}}{{end}}`)),
	}
	s := NewSinks("c", o, nil, nil)
	defer func() { _ = s.Close(t.Context()) }()
	caller := s.Callers["hook-c"]
	if err := caller.Call(t.Context(), alerts.Alert{Kind: alerts.Paused, Consumer: "c", Text: "ours"}); err != nil {
		t.Fatal(err)
	}
	if got.Title != "paused of c" || got.Text != "ours" || caller.Every != time.Minute || caller.Wants(alerts.Alert{}) || !caller.Wants(got) {
		t.Errorf("%+v, every %s", got, caller.Every)
	}
}
