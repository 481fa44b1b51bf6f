package alerts_test

import (
	"context"
	"strings"
	"testing"
	"text/template"

	"github.com/headrace/headrace/alerts"
)

// pager is a sink named pager.
type pager struct{ alerts.Hook }

func (pager) Name() string { return "pager" }

// Templates replace titles and texts, of one sink or of all; what they cannot say stays ours.
func TestTexts(t *testing.T) {
	texts := template.Must(template.New("").Parse(`{{define "text"}}
		{{.Environment}}: {{.Text}} {{with .Links}}{{(index . 0).URL}}{{end}}
	{{end}}
	{{define "hook/title"}}{{end}}{{define "pager/title"}}[{{.Severity}}] {{.Handler}}
		{{if eq .Phase "resolved"}}is well{{end}}{{end}}`))
	ignore := func(context.Context, alerts.Alert) error { return nil }
	o := alerts.Options{Texts: texts, Sinks: []alerts.Sink{alerts.Hook(ignore), pager{ignore}}}
	if err := o.Validate(); err != nil {
		t.Fatal(err)
	}
	a := alerts.Alert{Severity: alerts.Error, Phase: alerts.Resolved, Environment: "prod", Handler: "h", Title: "ours", Text: "it fails"}
	if got := o.Say("hook", a); got.Title != "ours" || got.Text != "prod: it fails" {
		t.Errorf("%+v", got)
	}
	if got := o.Say("pager", a); got.Title != "[error] h is well" || got.Text != "prod: it fails" {
		t.Errorf("%+v", got)
	}
	o.Texts = template.Must(template.New("").Parse(`{{define "title"}}{{index .Links 7}}{{end}}{{define "text"}} {{end}}`))
	if got := o.Say("pager", a); got.Title != "ours" || got.Text != "it fails" {
		t.Errorf("%+v", got)
	}
}

// A template that cannot work is refused when the consumer is built.
func TestTextsThatCannotWork(t *testing.T) {
	for text, want := range map[string]string{
		`{{define "titel"}}x{{end}}`:                  `"titel"`,
		`{{define "slack/text"}}x{{end}}`:             `"slack/text"`,
		`{{define "text"}}{{.Payload}}{{end}}`:        "Payload",
		`{{define "title"}}{{index .Links 3}}{{end}}`: "out of range",
	} {
		o := alerts.Options{Texts: template.Must(template.New("").Parse(text))}
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
