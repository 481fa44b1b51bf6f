package sqs

import (
	"encoding/base64"
	"encoding/json"
	"strings"
)

// notification is SNS' wrapper of a message for a queue.
type notification struct {
	Type       string `json:"Type"`
	MessageID  string `json:"MessageId"`
	TopicARN   string `json:"TopicArn"`
	Message    string `json:"Message"`
	Attributes map[string]struct {
		Type  string `json:"Type"`
		Value string `json:"Value"`
	} `json:"MessageAttributes"`
}

// unwrap reads a body that SNS has made; false if it is none, or asked is false.
func unwrap(body string, asked bool) (n notification, ok bool) {
	if !asked || !strings.HasPrefix(strings.TrimSpace(body), "{") || json.Unmarshal([]byte(body), &n) != nil {
		return notification{}, false
	}
	return n, n.Type == "Notification" && n.MessageID != "" && n.TopicARN != ""
}

// texts returns its attributes as metadata.
func (n notification) texts() map[string]string {
	m := make(map[string]string, len(n.Attributes))
	for name, v := range n.Attributes {
		m[name] = v.Value
		if strings.HasPrefix(v.Type, "Binary") {
			if b, err := base64.StdEncoding.DecodeString(v.Value); err == nil {
				m[name] = textOf(b)
			}
		}
	}
	return m
}
