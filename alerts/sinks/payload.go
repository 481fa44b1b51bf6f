package sinks

import (
	"cmp"
	"encoding/json"
	"github.com/headrace/headrace/alerts"
	"strings"
	"time"

	"github.com/headrace/headrace/internal/encode"
)

// PayloadVersion is the version of the body of Webhook; that of WebhookV2 has 2. A new field does not change it; a
// removed field or a new meaning does.
const PayloadVersion = 1

// payload is the body of a webhook: an event in the form that the Standard Webhooks
// specification advises, {type, timestamp, data}. See Webhook for the fields.
type payload struct {
	Version   int          `json:"version"`
	Type      string       `json:"type"`
	Timestamp time.Time    `json:"timestamp"`
	Data      alerts.Alert `json:"data"`
}

// payloadV2 is the body of version 2.
type payloadV2 struct {
	payload
	Status   string            `json:"status"`
	Severity alerts.Severity   `json:"severity"`
	Key      string            `json:"key"`
	Labels   map[string]string `json:"labels"`
	Links    []alerts.Link     `json:"links"`
}

// maxText bounds a text of the body.
const maxText = 1024

// body returns the JSON of a in version 1.
func body(a alerts.Alert) ([]byte, error) { return json.Marshal(payloadOf(PayloadVersion, a)) }

// bodyV2 returns the JSON of a in version 2: what is beside data is not in it.
func bodyV2(a alerts.Alert) ([]byte, error) {
	p := payloadV2{
		Status: string(cmp.Or(a.Phase, "event")), Severity: cmp.Or(a.Severity, alerts.Warning), Key: a.Key,
		Labels: a.Labels(), Links: append([]alerts.Link{}, a.Links...),
	}
	for name, value := range p.Labels {
		p.Labels[name] = short(value)
	}
	a.Phase, a.Severity, a.Key, a.Links = "", "", "", nil
	a.Environment, a.Database, a.Schema, a.Consumer, a.Build = "", "", "", "", ""
	p.payload = payloadOf(2, a)
	return json.Marshal(p)
}

func payloadOf(version int, a alerts.Alert) payload {
	if a.Since.IsZero() {
		a.Since = a.At
	}
	for _, text := range []*string{
		&a.Consumer, &a.Handler, &a.Topic, &a.Environment, &a.Database, &a.Schema, &a.Build,
		&a.Class, &a.ErrorFingerprint, &a.Title, &a.Text, &a.Error, &a.Command,
	} {
		*text = short(*text)
	}
	a.Count, a.Groups, a.Since = max(a.Count, 1), max(a.Groups, 1), a.Since.UTC()
	return payload{Version: version, Type: "headrace." + string(a.Kind), Timestamp: a.At.UTC(), Data: a}
}

// short makes s valid and cuts it to maxText.
func short(s string) string { return encode.Cut(strings.ToValidUTF8(s, "\ufffd"), maxText) }
