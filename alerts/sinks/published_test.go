package sinks_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/headrace/headrace/alerts"
)

// everything are the alerts of each condition, firing and resolved, and those of processes.
func everything(t *testing.T) (list []alerts.Alert) {
	t.Helper()
	text, err := os.ReadFile("testdata/conditions.json")
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil || len(list) < 40 {
		t.Fatalf("%d alerts, %v", len(list), err)
	}
	for _, kind := range []alerts.Kind{
		alerts.Paused, alerts.Resumed, alerts.SubscriptionEnded, alerts.HandlerStuck, alerts.WrongOrder, alerts.SourceDown, alerts.SourceUp,
		alerts.RelayStalled, alerts.RelayResumed, alerts.WebhookRefused, alerts.RedriveEnded,
	} {
		for _, phase := range []alerts.Phase{"", alerts.Firing, alerts.Again, alerts.Resolved} {
			list = append(list, with(incident, func(a *alerts.Alert) {
				a.Kind, a.Phase, a.Severity, a.ErrorFingerprint = kind, phase, alerts.Critical, ""
			}))
		}
	}
	return append(list, incident, resolved, long, alerts.Alert{Kind: alerts.Paused, Text: "no more is known"})
}

// The body of each alert is one of those whose types Slack and PagerDuty publish: testdata/published.
//
//evidence:alert
func TestPublishedShapes(t *testing.T) {
	for _, name := range []string{"slack", "pagerduty"} {
		schema, err := jsonschema.NewCompiler().Compile("testdata/published/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		fits := func(body []byte) error {
			content, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
			if err != nil {
				return err
			}
			return schema.Validate(content)
		}
		for _, a := range everything(t) {
			bodies, _ := sent(t, makers[name], a)
			for _, body := range bodies {
				if err := fits(body); err != nil {
					t.Errorf("%s, %s %s: %v\n%s", name, a.Kind, a.Phase, err, body)
				}
			}
			if len(bodies) == 0 && (a.Severity.Rank() >= alerts.Warning.Rank() && !a.Kind.Good() || name == "slack") {
				t.Errorf("%s gets no body of %s %s", name, a.Kind, a.Phase)
			}
		}
		bodies, _ := sent(t, makers[name], incident)
		for _, wrong := range [][2]string{
			{`"header"`, `"heading"`}, {`"plain_text"`, `"mrkdwn"`}, {`"fields"`, `"facts"`},
			{`"trigger"`, `"fire"`}, {`"severity":"warning"`, `"severity":"warn"`}, {`"summary"`, `"title"`}, {`"href"`, `"url"`}, {`"client"`, `"agent"`},
		} {
			if body := bytes.ReplaceAll(bodies[0], []byte(wrong[0]), []byte(wrong[1])); !bytes.Equal(body, bodies[0]) && fits(body) == nil {
				t.Errorf("%s takes %s", name, wrong[1])
			}
		}
	}
}
