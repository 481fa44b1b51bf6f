package main

import (
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
)

// letterView is a letter as JSON, without its payload.
type letterView struct {
	ID               int64                `json:"id"`
	State            dlq.State            `json:"state"`
	Class            dlq.Class            `json:"class"`
	Consumer         string               `json:"consumer"`
	Handler          string               `json:"handler"`
	Scope            string               `json:"scope"`
	Key              string               `json:"key"`
	OrderKey         string               `json:"order_key,omitempty"`
	Strict           bool                 `json:"strict,omitempty"`
	Fingerprint      string               `json:"fingerprint"`
	FirstFingerprint string               `json:"first_fingerprint,omitempty"`
	MessageID        string               `json:"message_id,omitempty"`
	Topic            string               `json:"topic"`
	Coordinates      headrace.Coordinates `json:"coordinates,omitzero"`
	TraceParent      string               `json:"traceparent,omitempty"`
	Error            string               `json:"error"`
	Group            string               `json:"group"`
	Attempts         int                  `json:"attempts"`
	FirstFailure     time.Time            `json:"first_failure,omitzero"`
	LastFailure      time.Time            `json:"last_failure,omitzero"`
	CreatedAt        time.Time            `json:"created_at"`
	ChangedAt        time.Time            `json:"changed_at"`
	PreviousID       int64                `json:"previous_id,omitempty"`
	Redrives         int                  `json:"redrives,omitempty"`
	Host             string               `json:"host,omitempty"`
	Build            string               `json:"build,omitempty"`
}

func viewLetter(l dlq.Letter) letterView {
	d := l.Delivery
	return letterView{
		ID: l.LetterID, State: l.State, Class: l.Class, Consumer: l.Consumer, Handler: l.Handler,
		Scope: d.Scope, Key: d.Key, OrderKey: d.OrderKey, Strict: l.Strict,
		Fingerprint: d.Fingerprint, FirstFingerprint: l.FirstPrint, MessageID: d.ID, Topic: d.Topic,
		Coordinates: d.Coordinates, TraceParent: d.Trace.Parent, Error: l.Error, Group: l.ErrorPrint,
		Attempts: l.Attempts, FirstFailure: l.FirstFailure, LastFailure: l.LastFailure,
		CreatedAt: l.CreatedAt, ChangedAt: l.ChangedAt, PreviousID: l.PreviousID, Redrives: l.Redrives,
		Host: l.Host, Build: l.Build,
	}
}

// detailView is a letter with all that is known about it.
type detailView struct {
	letterView
	// Inbox is where its message is now.
	Inbox        inbox.State   `json:"inbox"`
	Chain        []string      `json:"chain"`
	Stack        string        `json:"stack,omitempty"`
	Runs         []attemptView `json:"runs"`
	Trail        []dlq.Audit   `json:"trail"`
	HeaderNames  []string      `json:"header_names"`
	PayloadBytes int           `json:"payload_bytes"`
	// Headers and Payload are there only if they were asked for; Payload in base64.
	Headers map[string]string `json:"headers,omitempty"`
	Payload *[]byte           `json:"payload,omitempty"`
}

type attemptView struct {
	N         int           `json:"n"`
	Class     string        `json:"class"`
	ErrorType string        `json:"error_type"`
	Error     string        `json:"error"`
	Duration  time.Duration `json:"duration_ns"`
	Host      string        `json:"host"`
	Build     string        `json:"build"`
	At        time.Time     `json:"at"`
}

func viewDetail(d dlq.Detail, payload bool) detailView {
	v := detailView{
		letterView: viewLetter(d.Letter), Inbox: d.Inbox.State, Chain: d.Letter.Chain, Stack: d.Letter.Stack,
		Runs: []attemptView{}, Trail: d.Trail, PayloadBytes: len(d.Letter.Delivery.Payload),
		HeaderNames: slices.Sorted(maps.Keys(d.Letter.Delivery.Metadata)),
	}
	for _, a := range d.Attempts {
		v.Runs = append(v.Runs, viewAttempt(a))
	}
	if v.Trail == nil {
		v.Trail = []dlq.Audit{}
	}
	if payload {
		v.Headers = d.Letter.Delivery.Metadata
		body := d.Letter.Delivery.Payload
		if body == nil {
			body = []byte{}
		}
		v.Payload = &body
	}
	return v
}

func viewAttempt(a inbox.Attempt) attemptView {
	return attemptView{
		N: a.N, Class: a.Class, ErrorType: a.ErrorType, Error: a.Error,
		Duration: a.Duration, Host: a.Host, Build: a.Build, At: a.At,
	}
}

// printDetail prints a letter for people.
func (m *Main) printDetail(v detailView) error {
	rows := [][]string{
		{"letter", fmt.Sprintf("%d, %s since %s", v.ID, v.State, when(v.ChangedAt))},
		{"class", string(v.Class)}, {"consumer", v.Consumer}, {"handler", v.Handler},
		{"key", v.Key}, {"inbox", text(string(v.Inbox))}, {"order key", text(v.OrderKey)}, {"message id", text(v.MessageID)},
		{"topic", text(v.Topic)}, {"stood at", text(v.Coordinates.String())}, {"fingerprint", v.Fingerprint},
	}
	if v.Class == dlq.Conflict {
		rows = append(rows, []string{"first fingerprint", v.FirstFingerprint})
	}
	if v.PreviousID != 0 {
		rows = append(rows, []string{"redriven before", fmt.Sprintf("%d times, the last time from letter %d", v.Redrives, v.PreviousID)})
	}
	rows = append(rows, [][]string{
		{"failed", fmt.Sprintf("%s to %s, %d attempts", when(v.FirstFailure), when(v.LastFailure), v.Attempts)},
		{"on", text(strings.TrimSpace(v.Host + " " + v.Build))}, {"group", text(v.Group)}, {"error", text(v.Error)},
		{"headers", text(strings.Join(v.HeaderNames, ", "))}, {"payload", fmt.Sprintf("%d bytes", v.PayloadBytes)},
	}...)
	if err := m.table(nil, rows); err != nil {
		return err
	}
	if err := m.printRuns(v); err != nil {
		return err
	}
	return m.printBody(v)
}

func (m *Main) printRuns(v detailView) error {
	section := func(title string, lines []string) error {
		if len(lines) == 0 {
			return nil
		}
		for _, line := range append([]string{"", title}, lines...) {
			if err := m.line("%s", line); err != nil {
				return err
			}
		}
		return nil
	}
	var runs, trail []string
	for _, a := range v.Runs {
		runs = append(runs, fmt.Sprintf("  %d  %s  %s  %s  %s", a.N, when(a.At), a.Class, a.Duration.Round(time.Millisecond), a.Error))
	}
	for _, a := range v.Trail {
		line := fmt.Sprintf("  %s  %s by %s: %s", when(a.At), a.Action, a.By, text(a.Reason))
		if a.NewKey != "" {
			line += ", under the new key " + a.NewKey
		}
		trail = append(trail, line)
	}
	for _, part := range []struct {
		title string
		lines []string
	}{
		{"wraps", indent(v.Chain)}, {"attempts", runs}, {"decisions", trail}, {"stack", indent(splitLines(v.Stack))},
	} {
		if err := section(part.title, part.lines); err != nil {
			return err
		}
	}
	return nil
}

// printBody prints headers and payload if they were asked for. Each line of a text is
// indented, so that it cannot be taken for one of ours.
func (m *Main) printBody(v detailView) error {
	if v.Payload == nil {
		return nil
	}
	lines := []string{"", "headers"}
	for _, name := range v.HeaderNames {
		lines = append(lines, "  "+strconv.Quote(name)+": "+strconv.Quote(v.Headers[name]))
	}
	lines = append(lines, "", "payload")
	if body := *v.Payload; utf8.Valid(body) {
		lines = append(lines, indent(splitLines(string(body)))...)
	} else {
		lines = append(lines, indent(splitLines(hex.Dump(body)))...)
	}
	for _, line := range lines {
		if err := m.line("%s", line); err != nil {
			return err
		}
	}
	return nil
}

func indent(lines []string) []string {
	var list []string
	for _, line := range lines {
		list = append(list, "  "+strings.ReplaceAll(line, "\t", "    "))
	}
	return list
}

func splitLines(s string) []string {
	if s = strings.TrimRight(s, "\n"); s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}
