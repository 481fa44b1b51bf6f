package sinks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"github.com/headrace/headrace/alerts"
	"strings"
	"time"

	"github.com/headrace/headrace/internal/encode"
)

// The addresses of PagerDuty's Events API v2, for accounts of its two regions.
const (
	PagerDutyUS = "https://events.pagerduty.com/v2/enqueue"
	PagerDutyEU = "https://events.eu.pagerduty.com/v2/enqueue"
)

// PagerDuty returns a sink that triggers and resolves incidents by the Events API v2. rawURL is
// PagerDutyUS or PagerDutyEU, routingKey the integration key of the service, a secret.
//
// The dedup_key is alerts.Alert.Key: an incident is the same from any process, and another one in
// another database or environment. What has no Key (an event of a process) triggers an incident
// that a person closes; that something works again is then not sent.
//
// The error shows nothing of the key.
func PagerDuty(rawURL, routingKey string, o Options) (alerts.Sink, error) {
	c, err := newCaller("pagerduty", rawURL, o)
	if err != nil {
		return nil, err
	}
	if len(routingKey) != 32 {
		return nil, errors.New("sinks: pagerduty: the routing key is not of 32 characters: take the integration key of a service's Events API v2")
	}
	return pagerDuty{c, routingKey}, nil
}

type pagerDuty struct {
	*caller
	key string
}

// Address also tells services apart.
func (p pagerDuty) Address() string { return address(p.key, p.caller) }

// Bounds of PagerDuty, in bytes, which are never fewer than its characters.
const (
	pagerSummary = 1024
	pagerKey     = 255
)

type (
	pagerEvent struct {
		RoutingKey string        `json:"routing_key"`
		Action     string        `json:"event_action"`
		DedupKey   string        `json:"dedup_key"`
		Client     string        `json:"client,omitempty"`
		Payload    *pagerPayload `json:"payload,omitempty"`
		Links      []pagerLink   `json:"links,omitempty"`
	}
	pagerPayload struct {
		Summary   string            `json:"summary"`
		Source    string            `json:"source"`
		Severity  alerts.Severity   `json:"severity"`
		Timestamp string            `json:"timestamp,omitempty"`
		Component string            `json:"component,omitempty"`
		Group     string            `json:"group,omitempty"`
		Class     string            `json:"class,omitempty"`
		Details   map[string]string `json:"custom_details"`
	}
	pagerLink struct {
		Href string `json:"href"`
		Text string `json:"text"`
	}
)

// Wants reports whether an alert is for this receiver: of another one Send does nothing.
func (p pagerDuty) Wants(a alerts.Alert) bool { return p.ends(a) }

// Send triggers or resolves an incident.
func (p pagerDuty) Send(ctx context.Context, a alerts.Alert) error {
	if !p.Wants(a) {
		return nil
	}
	content, err := json.Marshal(p.event(a))
	if err != nil {
		return &alerts.SendError{Reason: "pagerduty: the alert cannot be encoded", Refused: true}
	}
	return p.post(ctx, content)
}

func (p pagerDuty) event(a alerts.Alert) pagerEvent {
	event := strings.Join([]string{string(a.Kind), a.Consumer, a.Handler, a.Topic, a.ErrorFingerprint}, "/") // has no key
	e := pagerEvent{RoutingKey: p.key, Action: "trigger", DedupKey: encode.Cut(short(cmp.Or(a.Key, event)), pagerKey)}
	if a.Phase == alerts.Resolved {
		e.Action = "resolve"
		return e
	}
	details := map[string]string{"text": short(a.Text)}
	for _, f := range facts(a) {
		details[f.name] = short(f.value)
	}
	for name, value := range map[string]string{"error": a.Error, "command": a.Command} {
		if value != "" {
			details[name] = short(value)
		}
	}
	e.Client = "headrace"
	e.Payload = &pagerPayload{
		Summary: encode.Cut(short(cmp.Or(a.Title, a.Text, string(a.Kind))), pagerSummary), Source: short(cmp.Or(a.Consumer, a.Database, "headrace")),
		Severity: cmp.Or(a.Severity, alerts.Warning), Component: short(a.Handler), Group: short(a.Environment), Class: string(a.Kind), Details: details,
	}
	if !a.At.IsZero() {
		e.Payload.Timestamp = a.At.UTC().Format(time.RFC3339)
	}
	for _, l := range a.Links {
		e.Links = append(e.Links, pagerLink{l.URL, short(l.Name)})
	}
	return e
}
