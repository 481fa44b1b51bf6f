package sinks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/headrace/headrace/alerts"
)

const (
	// repeat is how often what fires is posted: a restarted Alertmanager has it again soon.
	repeat = 20 * time.Minute
	// fires is for how long an alert fires if it is not posted again. A shorter time would
	// resolve it when the consumer dies.
	fires = 24 * time.Hour
	// passes is for how long an alert fires that nothing resolves.
	passes = 15 * time.Minute
)

// Alertmanager returns a sink that posts alerts to each of rawURLs, the addresses of
// Alertmanagers: https://alertmanager.example.com. Those of a cluster are all listed, since
// they do not tell each other of alerts.
//
// The labels are alertname (HeadraceGroupFailing for the kind group_failing), severity, those of
// alerts.Alert.Labels but the build, handler, error_fingerprint, and key, the first 16 digits of
// alerts.Alert.Key. The build, the text and the links are annotations. An alert fires until it is
// resolved, for a day at most after it was last posted. If its severity rises, that of the other
// severities is resolved.
//
// Send returns nil when all have the alert. The error shows nothing of the addresses.
func Alertmanager(rawURLs []string, o Options) (alerts.Sink, error) {
	if len(rawURLs) == 0 {
		return nil, errors.New("sinks: alertmanager: there is no URL")
	}
	m := &alertmanager{}
	for _, rawURL := range rawURLs {
		c, err := newCaller("alertmanager", rawURL, o)
		if err != nil {
			return nil, err
		}
		c.url = c.url.JoinPath("api", "v2", "alerts")
		m.callers = append(m.callers, c)
	}
	return m, nil
}

type alertmanager struct{ callers []*caller }

var (
	_ alerts.Repeated  = (*alertmanager)(nil)
	_ alerts.Addressed = (*alertmanager)(nil)
)

// Name returns the sink's name.
func (m *alertmanager) Name() string { return m.callers[0].name }

// Address is that of all.
func (m *alertmanager) Address() string { return address("", m.callers...) }

// Every returns 20 minutes.
func (m *alertmanager) Every() time.Duration { return repeat }

// posted is an alert in the API v2 of Alertmanager.
type posted struct {
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	StartsAt     time.Time         `json:"startsAt,omitzero"`
	EndsAt       time.Time         `json:"endsAt"`
	GeneratorURL string            `json:"generatorURL,omitempty"`
}

// Wants reports whether an alert is for this receiver: of another one Send does nothing.
func (m *alertmanager) Wants(a alerts.Alert) bool { return m.callers[0].ends(a) }

// Send posts an alert to all, also when one fails.
func (m *alertmanager) Send(ctx context.Context, a alerts.Alert) error {
	if !m.Wants(a) {
		return nil
	}
	content, err := json.Marshal(posts(a, time.Now()))
	if err != nil {
		return &alerts.SendError{Reason: "alertmanager: the alert cannot be encoded", Refused: true}
	}
	var errs []error
	for _, c := range m.callers {
		errs = append(errs, c.post(ctx, content))
	}
	return worst(errs)
}

// worst returns the error that says most about another try: one that is of use, after the
// longest delay.
func worst(errs []error) error {
	var found *alerts.SendError
	for _, err := range errs {
		e, failed := errors.AsType[*alerts.SendError](err)
		switch {
		case !failed:
		case found == nil, found.Refused && !e.Refused, found.Refused == e.Refused && e.RetryAfter > found.RetryAfter:
			found = e
		}
	}
	if found == nil {
		return nil
	}
	return found
}

// posts is what is posted for an alert: it, and after the first time its other severities as
// resolved. Alertmanager sends nothing for one that never fired.
func posts(a alerts.Alert, now time.Time) []posted {
	a.Severity = cmp.Or(a.Severity, alerts.Warning)
	list := []posted{post(a, a.Severity)}
	switch a.Phase {
	case alerts.Resolved:
		list[0].EndsAt = now
	case alerts.Firing, alerts.Again:
		list[0].EndsAt = now.Add(fires)
	default:
		list[0].EndsAt = now.Add(passes)
	}
	if a.Phase != alerts.Again && a.Phase != alerts.Resolved {
		return list
	}
	for _, other := range alerts.Severities() {
		if other != a.Severity {
			p := post(a, other)
			p.EndsAt = now
			list = append(list, p)
		}
	}
	return list
}

func post(a alerts.Alert, s alerts.Severity) posted {
	labels := a.Labels()
	delete(labels, "build")
	labels["alertname"], labels["severity"] = "Headrace"+camel(string(a.Kind)), string(s)
	labels["handler"], labels["error_fingerprint"], labels["topic"], labels["key"] = a.Handler, a.ErrorFingerprint, a.Topic, a.Key[:min(len(a.Key), 16)]
	annotations := map[string]string{"summary": cmp.Or(a.Title, a.Text), "description": a.Text, "build": a.Build, "error": a.Error, "command": a.Command}
	for _, texts := range []map[string]string{labels, annotations} {
		maps.DeleteFunc(texts, func(_, value string) bool { return value == "" })
		for name, value := range texts {
			texts[name] = short(value)
		}
	}
	p := posted{Labels: labels, Annotations: annotations, StartsAt: a.Since.UTC()}
	if len(a.Links) > 0 {
		p.GeneratorURL = a.Links[0].URL
	}
	return p
}

// camel makes GroupFailing of group_failing.
func camel(s string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(s, "_") {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}
