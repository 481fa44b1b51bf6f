package alerts

import (
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"
)

// PayloadVersion is the version of the body that a webhook sends. A field that is
// added does not change it; one that goes, or means another thing, does.
const PayloadVersion = 1

// payload is the body of a webhook: an event as the Standard Webhooks specification
// advises, {type, timestamp, data}. See Webhook for the fields.
type payload struct {
	Version   int       `json:"version"`
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      data      `json:"data"`
}

type data struct {
	ID         string    `json:"id"`
	Kind       Kind      `json:"kind"`
	Consumer   string    `json:"consumer,omitempty"`
	Handler    string    `json:"handler,omitempty"`
	Topic      string    `json:"topic,omitempty"`
	Class      string    `json:"class,omitempty"`
	ErrorPrint string    `json:"error_print,omitempty"`
	LetterID   int64     `json:"letter_id,omitempty"`
	Text       string    `json:"text"`
	Count      int64     `json:"count"`
	Groups     int64     `json:"groups"`
	Since      time.Time `json:"since"`
}

// maxText bounds a text of the body.
const maxText = 1024

// body is the JSON of a.
func body(a Alert) ([]byte, error) {
	if a.Since.IsZero() {
		a.Since = a.At
	}
	return json.Marshal(payload{
		Version: PayloadVersion, Type: "headrace." + string(a.Kind), Timestamp: a.At.UTC(),
		Data: data{
			ID: a.ID, Kind: a.Kind, Consumer: short(a.Consumer), Handler: short(a.Handler), Topic: short(a.Topic),
			Class: short(a.Class), ErrorPrint: short(a.ErrorPrint), LetterID: a.LetterID, Text: short(a.Text),
			Count: max(a.Count, 1), Groups: max(a.Groups, 1), Since: a.Since.UTC(),
		},
	})
}

// short cuts s to what a body may hold of it.
func short(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if len(s) <= maxText {
		return s
	}
	end := maxText
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}
