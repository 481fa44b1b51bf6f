package alerts

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/headrace/headrace/internal/encode"
)

// PayloadVersion is the version of a webhook's body. A new field does not change it; a
// removed field or a new meaning does.
const PayloadVersion = 1

// payload is the body of a webhook: an event in the form that the Standard Webhooks
// specification advises, {type, timestamp, data}. See Webhook for the fields.
type payload struct {
	Version   int       `json:"version"`
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      Alert     `json:"data"`
}

// maxText bounds a text of the body.
const maxText = 1024

// body returns the JSON of a.
func body(a Alert) ([]byte, error) {
	if a.Since.IsZero() {
		a.Since = a.At
	}
	for _, text := range []*string{&a.Consumer, &a.Handler, &a.Topic, &a.Class, &a.ErrorFingerprint, &a.Text} {
		*text = short(*text)
	}
	a.Count, a.Groups, a.Since = max(a.Count, 1), max(a.Groups, 1), a.Since.UTC()
	return json.Marshal(payload{Version: PayloadVersion, Type: "headrace." + string(a.Kind), Timestamp: a.At.UTC(), Data: a})
}

// short makes s valid and cuts it to maxText.
func short(s string) string { return encode.Cut(strings.ToValidUTF8(s, "\ufffd"), maxText) }
