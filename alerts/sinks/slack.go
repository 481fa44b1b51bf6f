package sinks

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/headrace/headrace/alerts"
)

// Slack returns a sink that posts each alert as a message to a channel. rawURL is that of an
// incoming webhook, which is a secret: https://hooks.slack.com/services/…
//
// Texts of others are escaped: a handler's name cannot call a channel or a person, and is no
// link. The error shows nothing of the URL.
func Slack(rawURL string, o Options) (alerts.Sink, error) {
	c, err := newCaller("slack", rawURL, o)
	if err != nil {
		return nil, err
	}
	return slack{c}, nil
}

type slack struct{ *caller }

// Bounds of Slack for texts, in characters.
const (
	slackHeader  = 150
	slackSection = 3000
	slackField   = 2000
	slackText    = 4000
)

type (
	slackMessage struct {
		Text   string       `json:"text"` // for notifications
		Blocks []slackBlock `json:"blocks"`
	}
	slackBlock struct {
		Type   string           `json:"type"`
		Text   *slackTextBlock  `json:"text,omitempty"`
		Fields []slackTextBlock `json:"fields,omitempty"`
	}
	slackTextBlock struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
)

// Send posts a message.
func (s slack) Send(ctx context.Context, a alerts.Alert) error {
	if !s.Wants(a) {
		return nil
	}
	content, err := json.Marshal(slackBody(a))
	if err != nil {
		return &alerts.SendError{Reason: "slack: the alert cannot be encoded", Refused: true}
	}
	return s.post(ctx, content)
}

func slackBody(a alerts.Alert) slackMessage {
	head := headline(a)
	header := escape(head, slackHeader)
	m := slackMessage{Text: escape(head, slackText), Blocks: []slackBlock{
		{Type: "header", Text: &slackTextBlock{"plain_text", header}},
	}}
	if a.Text != "" && (a.Text != a.Title+"." || strings.HasSuffix(header, "…")) { // else the header says it
		m.Blocks = append(m.Blocks, section(escape(a.Text, slackSection)))
	}
	var fields []slackTextBlock
	for _, f := range facts(a) {
		fields = append(fields, slackTextBlock{"mrkdwn", "*" + f.name + "*\n" + escape(f.value, slackField/2)})
	}
	if len(fields) > 0 {
		m.Blocks = append(m.Blocks, slackBlock{Type: "section", Fields: fields})
	}
	if a.Error != "" {
		m.Blocks = append(m.Blocks, section(code(a.Error)))
	}
	if a.Command != "" {
		m.Blocks = append(m.Blocks, section(code(a.Command)))
	}
	var links []string
	for _, l := range a.Links {
		links = append(links, fmt.Sprintf("<%s|%s>", strings.NewReplacer("|", "%7C", ">", "%3E", "<", "%3C").Replace(l.URL), escape(l.Name, 100)))
	}
	if text := strings.Join(links, " · "); text != "" && len(text) <= slackSection {
		m.Blocks = append(m.Blocks, section(text))
	}
	return m
}

func section(text string) slackBlock {
	return slackBlock{Type: "section", Text: &slackTextBlock{"mrkdwn", text}}
}

// code is text in a box, in which nothing is markup.
func code(text string) string {
	return "```" + escape(strings.ReplaceAll(text, "```", "'''"), slackSection-6) + "```"
}

// escape makes text of others plain, and cuts it to a number of characters without cutting an
// entity.
func escape(s string, limit int) string {
	var b strings.Builder
	n := 0
	for _, r := range strings.ToValidUTF8(s, "\ufffd") {
		one := string(r)
		switch r {
		case '&':
			one = "&amp;"
		case '<':
			one = "&lt;"
		case '>':
			one = "&gt;"
		}
		if n += utf8.RuneCountInString(one); n >= limit {
			b.WriteString("…")
			break
		}
		b.WriteString(one)
	}
	return b.String()
}
