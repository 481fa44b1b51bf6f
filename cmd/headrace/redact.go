package main

import (
	"github.com/spf13/cobra"

	"github.com/headrace/headrace/redact"
)

// content says how much a command prints of payloads, headers, results and answers.
type content struct{ payload, reveal bool }

func addContent(c *cobra.Command, what string) *content {
	var shown content
	c.Flags().BoolVar(&shown.payload, "payload", false, "print "+what+", too, with secrets redacted")
	c.Flags().BoolVar(&shown.reveal, "reveal", false, "print "+what+", too, with nothing redacted")
	return &shown
}

func (c *content) any() bool { return c.payload || c.reveal }

// eyes is what a person may see of payloads and headers. Without rules it is everything.
type eyes struct{ rules *redact.Rules }

// loadRules reads what --redact names, for each command: one that prints no content says, too, that it cannot.
func (m *Main) loadRules() (err error) {
	if m.flags.redact == "" {
		return nil
	}
	if m.rules, err = redact.Load(m.flags.redact); err != nil {
		return wrong("redact", m.flags.redact, "it must be a file of rules: %v", err)
	}
	return nil
}

// eyes returns what the person who calls the command asked to see.
func (m *Main) eyes(shown *content) eyes {
	if shown.reveal {
		return eyes{}
	}
	if m.rules == nil {
		return eyes{redact.New()}
	}
	return eyes{m.rules}
}

func (e eyes) payload(b []byte) []byte {
	if e.rules == nil {
		return b
	}
	return e.rules.Payload(b)
}

func (e eyes) headers(h map[string]string) map[string]string {
	if e.rules == nil {
		return h
	}
	return e.rules.Headers(h)
}

// body redacts what v has of a message's content.
func (e eyes) body(v *bodyView) {
	if v.Payload == nil {
		return
	}
	payload := e.payload(*v.Payload)
	v.Payload, v.Headers = &payload, e.headers(v.Headers)
}
